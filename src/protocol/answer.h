// What answers are made of, whole or streamed: usage, finish reasons, log probabilities, tool
// calls.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "protocol/request.h"
#include "protocol/tokenizer.h"

namespace fairlead::protocol {

enum class FinishReason { kStop, kLength, kAbort, kToolCalls, kError };
std::string_view to_string(FinishReason reason);

// The stop string or stop token that ended a text; empty if something else did.
using StopReason = std::variant<std::monostate, std::string, int64_t>;

struct Finish {
  FinishReason reason = FinishReason::kStop;
  StopReason stop{};
};

struct Usage {
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
  // Only given where the engine reports it and something was cached.
  std::optional<int64_t> cached_tokens{};
};

// A token with its log probability and those of the likeliest alternatives.
struct TokenLogprob {
  struct Choice {
    std::string text;
    double logprob = 0;
  };
  Choice token;
  std::vector<Choice> top;
};

// What every answer and every chunk of it says first.
struct AnswerHead {
  std::string id;  // "chatcmpl-..." or "cmpl-..."
  int64_t created = 0;
  std::string model;
};

// Pieces of JSON that whole answers and chunks share; each appends one value.
enum class Details { kAlways, kIfKnown };  // "prompt_tokens_details":null, or left out
void append_usage(std::string& out, const Usage& usage, Details details);
void append_finish_reason(std::string& out, const std::optional<Finish>& finish);
void append_stop_reason(std::string& out, const std::optional<Finish>& finish);
void append_ids(std::string& out, std::span<const TokenId> ids);
// {"content":[{"token","logprob","bytes","top_logprobs"}]}
void append_chat_logprobs(std::string& out, std::span<const TokenLogprob> tokens);
// {"text_offset","token_logprobs","tokens","top_logprobs"}; `offset` is where the first token
// begins within the text, in characters.
void append_completion_logprobs(std::string& out, std::span<const TokenLogprob> tokens,
                                size_t offset);

}  // namespace fairlead::protocol
