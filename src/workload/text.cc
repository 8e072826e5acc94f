#include "workload/text.h"

#include <array>

#include "base/random.h"

namespace fairlead::workload {
namespace {

// Words that a tokenizer has as one token each, with the space before them.
using Words = std::array<std::string_view, 16>;
constexpr Words kTwo = {"as", "is", "no", "or", "of", "in", "on", "at",
                        "by", "to", "up", "so", "if", "an", "we", "it"};
constexpr Words kThree = {"key", "log", "pod", "hot", "api", "has", "may", "can",
                          "the", "all", "one", "few", "any", "and", "for", "new"};
constexpr Words kFour = {"gate", "rate", "node", "page", "load", "slot", "time", "task",
                         "will", "gets", "each", "some", "with", "from", "warm", "next"};
constexpr uint32_t kSentence = 12;  // words

// The built-in tokenizer cuts a word every four letters; a colon is one.
uint32_t head_tokens(std::string_view head) {
  uint32_t tokens = 0;
  size_t letters = 0;
  for (const char c : head) {
    letters = c == ' ' || c == ':' ? 0 : letters + 1;
    tokens += c == ':' || letters % 4 == 1;
  }
  return tokens;
}

// Words and full stops of one token each, the last a full stop. Which words follows from `seed`,
// but longer ones where there are fewer than four bytes for each token so far, and shorter ones
// where there are more, so that both counts come out exactly.
class Filler {
 public:
  Filler(std::string& out, uint64_t seed) : out_(out), random_(seed) {}

  // `excess` is by how many bytes what is there is more than four a token.
  void fill(uint32_t tokens, int64_t excess) {
    for (uint32_t words = 1; tokens > 1; ++words, --tokens) {
      // The last full stop takes three bytes too few. A word adds one at most, so this many of
      // those that are left must be of four letters.
      const int64_t must_be_long = 3 - excess;
      const int64_t spare = static_cast<int64_t>(tokens) - 1 - must_be_long;
      if (words % (kSentence + 1) == 0 && spare > 4) {
        out_ += '.';
        excess -= 3;
        continue;
      }
      const std::string_view word = draw(spare <= 0 || excess < 0 ? kFour
                                         : spare == 1             ? kThree
                                         : excess > 2             ? kTwo
                                                                  : any());
      out_ += ' ';
      out_ += word;
      excess += static_cast<int64_t>(word.size() + 1) - static_cast<int64_t>(kBytesPerToken);
    }
    if (tokens == 1) out_ += '.';
  }

 private:
  uint64_t bits(int count) {
    if (bits_left_ < count) {
      bits_ = random_.next();
      bits_left_ = 64;
    }
    const uint64_t drawn = bits_ & ((1u << count) - 1);
    bits_ >>= count;
    bits_left_ -= count;
    return drawn;
  }
  std::string_view draw(const Words& words) { return words[bits(4)]; }
  // More of the long ones, to make up for the full stops.
  const Words& any() {
    const uint64_t drawn = bits(2);
    return drawn == 0 ? kTwo : drawn == 1 ? kThree : kFour;
  }

  std::string& out_;
  base::Random random_;
  uint64_t bits_ = 0;
  int bits_left_ = 0;
};

}  // namespace

void make_text(std::string& out, std::string_view label, uint64_t seed, uint32_t tokens) {
  out.clear();
  append_text(out, label, seed, tokens);
}

void append_text(std::string& out, std::string_view label, uint64_t seed, uint32_t tokens) {
  const size_t begin = out.size();
  out.reserve(begin + tokens * kBytesPerToken);
  // The seed in the first bytes keeps texts apart within an engine's first block.
  for (int shift = 60; shift >= 0; shift -= 4) out += static_cast<char>('a' + (seed >> shift & 15));
  out += ' ';
  out += label;
  out += ':';
  const std::string_view head = std::string_view(out).substr(begin);
  const uint32_t used = head_tokens(head);
  if (used >= tokens) return;
  Filler(out, seed).fill(tokens - used, static_cast<int64_t>(head.size()) -
                                            static_cast<int64_t>(used * kBytesPerToken));
}

}  // namespace fairlead::workload
