// One answer in the making: which token comes next, and the text that is safe to send so far.
// Everything is decided by the plan, which is decided by the prompt, so the same request gets the
// same answer. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine_model/types.h"
#include "protocol/text_stream.h"
#include "protocol/tokenizer.h"

namespace fairlead::engine {

struct Plan {
  uint64_t seed = 0;
  uint32_t output_tokens_max = 1;
  // The end-of-text token comes as the so manieth one; 0: never.
  uint32_t stop_at = 0;
  // Instead of made-up words, these tokens and then the end of text: a tool call.
  std::vector<protocol::TokenId> script;
  uint32_t min_tokens = 0;
  std::vector<int64_t> stop_token_ids;
  std::vector<std::string> stop_strings;
  bool include_stop_string = false;
  bool skip_special_tokens = true;
  bool keep_tokens = false;  // for return_token_ids and logprobs
};

class Generation {
 public:
  Generation(const protocol::Tokenizer& tokenizer, Plan plan);

  // Draws one token and adds what it makes certain to text().
  engine_model::TokenSource::Next next();
  // The model has ended it: what was held back for a stop string is text after all.
  void end(engine_model::Finish finish);

  uint32_t tokens() const { return produced_; }
  // All text so far; a stream sends what lies behind sent().
  std::string_view text() const { return text_; }
  std::string_view unsent() const { return std::string_view(text_).substr(sent_); }
  void mark_sent() { sent_ = text_.size(); }
  // Kept if the plan says so.
  const std::vector<protocol::TokenId>& token_ids() const { return token_ids_; }

  bool ended() const { return finish_ != engine_model::Finish::kNone; }
  engine_model::Finish finish() const { return finish_; }
  // What stopped it, where that is not the end of text.
  const std::string* stop_string() const {
    return stop_string_ ? &plan_.stop_strings[*stop_string_] : nullptr;
  }
  std::optional<int64_t> stop_token() const { return stop_token_; }

 private:
  engine_model::TokenSource::Next next_by_plan();

  // What every token touches comes first.
  const protocol::Tokenizer& tokenizer_;
  const uint64_t seed_;
  const uint32_t stop_at_;
  uint32_t produced_ = 0;
  // Nothing to keep, to look for or to read out: words until stop_at_.
  const bool plain_;
  engine_model::Finish finish_ = engine_model::Finish::kNone;
  size_t sent_ = 0;
  std::string text_;
  protocol::TextStream stream_;

  const Plan plan_;
  std::optional<protocol::StopFinder> stops_;
  std::string piece_;
  std::vector<protocol::TokenId> token_ids_;
  std::optional<size_t> stop_string_;
  std::optional<int64_t> stop_token_;
};

// How long an answer without max_tokens gets: drawn from `seed`, half to one and a half times
// `mean`.
uint32_t natural_length(uint64_t seed, uint32_t mean);

}  // namespace fairlead::engine
