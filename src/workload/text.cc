#include "workload/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/random.h"

namespace fairlead::workload {
namespace {

// 64 short words: six bits of a draw choose one.
constexpr std::array<std::string_view, 64> kWords = {
    "gate",  "route", "rate",  "limit", "plan",  "cache", "token", "block", "key",   "log",
    "node",  "pod",   "page",  "queue", "shard", "trace", "scale", "group", "lease", "model",
    "batch", "stage", "is",    "has",   "may",   "can",   "will",  "must",  "does",  "takes",
    "gives", "keeps", "the",   "a",     "each",  "every", "one",   "some",  "any",   "no",
    "and",   "or",    "of",    "in",    "on",    "at",    "by",    "for",   "with",  "from",
    "to",    "over",  "under", "new",   "old",   "small", "large", "fast",  "slow",  "warm",
    "cold",  "first", "last",  "next"};

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
  // The hash in the first bytes keeps texts apart within an engine's first block.
  fmt::format_to(std::back_inserter(out), "{:016x} {}: ", seed, label);
  fill_text(out, std::max(begin + tokens * kBytesPerToken, out.size()), seed);
}

}  // namespace fairlead::workload
