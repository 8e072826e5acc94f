// From tokens to the text of a stream: whole UTF-8 characters only, and stop strings found across
// tokens. One stream, one thread; no I/O.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/tokenizer.h"

namespace fairlead::protocol {

enum class SpecialTokens { kSkip, kShow };

// Bytes of a token that begin a character wait for the tokens that finish it. Bytes that can be no
// UTF-8 come out as U+FFFD.
class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer, SpecialTokens special = SpecialTokens::kSkip)
      : tokenizer_(tokenizer), special_(special) {}

  // Appends the text that `id` completes.
  void feed(TokenId id, std::string& out);
  // Appends what is left, as U+FFFD: the stream has ended.
  void finish(std::string& out);

 private:
  const Tokenizer& tokenizer_;
  const SpecialTokens special_;
  std::string held_;  // at most three bytes between calls
};

// Cuts a stream of text at the first stop string. As vLLM does, it holds back as many bytes as a
// stop string might still need, so that none of it is sent; finish() gives them out.
class StopFinder {
 public:
  enum class Include { kNo, kYes };  // whether the stop string itself belongs to the text

  StopFinder(std::vector<std::string> stops, Include include);

  // Appends to `out` the text that is safe to send. If a stop string has appeared, `out` ends there
  // and the stop string's index is returned; the stream must not be fed any more.
  std::optional<size_t> feed(std::string_view text, std::string& out);
  void finish(std::string& out);

 private:
  void send_up_to(size_t end, std::string& out);

  const std::vector<std::string> stops_;
  const Include include_;
  size_t overlap_ = 0;  // bytes of a stop string that may already have been there
  std::string text_;    // the last `overlap_` bytes, and what is held back
  size_t sent_ = 0;     // bytes of text_ that have been given out
};

}  // namespace fairlead::protocol
