#include "workload/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/random.h"

namespace fairlead::workload {
namespace {

// 64 words, so that six bits of a draw choose one: of at most four letters, which any tokenizer has
// as one token, and with the spaces and full stops between them four bytes a token on average.
constexpr std::array<std::string_view, 64> kWords = {
    "gate", "rate", "plan", "key",  "log",  "node", "pod",  "page", "hot",  "load", "api",
    "port", "as",   "unit", "lane", "slot", "time", "step", "task", "byte", "is",   "has",
    "may",  "can",  "will", "must", "does", "gets", "ends", "sees", "the",  "a",    "each",
    "all",  "one",  "some", "few",  "any",  "no",   "and",  "or",   "of",   "in",   "on",
    "at",   "by",   "for",  "with", "from", "to",   "over", "up",   "new",  "old",  "big",
    "fast", "slow", "warm", "cold", "next", "last", "per",  "so",   "yet"};

// Appends words until `out` is exactly `size` bytes long; ends with a full stop.
void fill_text(std::string& out, size_t size, uint64_t seed) {
  base::Random random(seed);
  out.reserve(size + 8);
  unsigned word = 0;
  while (out.size() < size) {
    uint64_t bits = random.next();
    for (int i = 0; i < 10 && out.size() < size; ++i, bits >>= 6) {
      out += kWords[bits & 63];
      out += ++word % 12 == 0 ? ". " : " ";
    }
  }
  out.resize(size);
  if (size > 0) out.back() = '.';
}

}  // namespace

void make_text(std::string& out, std::string_view label, uint64_t seed, uint32_t tokens) {
  out.clear();
  append_text(out, label, seed, tokens);
}

void append_text(std::string& out, std::string_view label, uint64_t seed, uint32_t tokens) {
  const size_t begin = out.size();
  // The seed in the first bytes keeps texts apart within an engine's first block; in letters, of
  // which four are a token.
  for (int shift = 60; shift >= 0; shift -= 4) out += static_cast<char>('a' + (seed >> shift & 15));
  fmt::format_to(std::back_inserter(out), " {}: ", label);
  fill_text(out, std::max(begin + tokens * kBytesPerToken, out.size()), seed);
}

}  // namespace fairlead::workload
