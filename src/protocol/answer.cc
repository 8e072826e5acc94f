#include "protocol/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "codec/json.h"

namespace fairlead::protocol {

std::string_view to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kAbort:
      return "abort";
    case FinishReason::kToolCalls:
      return "tool_calls";
    case FinishReason::kError:
      return "error";
  }
  return "error";
}

void append_usage(std::string& out, const Usage& usage, Details details) {
  fmt::format_to(std::back_inserter(out),
                 "{{\"prompt_tokens\":{},\"total_tokens\":{},\"completion_tokens\":{}",
                 usage.prompt_tokens, usage.prompt_tokens + usage.completion_tokens,
                 usage.completion_tokens);
  if (usage.cached_tokens) {
    fmt::format_to(std::back_inserter(out), ",\"prompt_tokens_details\":{{\"cached_tokens\":{}}}",
                   *usage.cached_tokens);
  } else if (details == Details::kAlways) {
    out.append(",\"prompt_tokens_details\":null");
  }
  out.push_back('}');
}

void append_finish_reason(std::string& out, const std::optional<Finish>& finish) {
  if (!finish) {
    out.append("null");
    return;
  }
  out.append("\"").append(to_string(finish->reason)).push_back('"');
}

void append_stop_reason(std::string& out, const std::optional<Finish>& finish) {
  if (finish && std::holds_alternative<std::string>(finish->stop)) {
    codec::append_json_string(out, std::get<std::string>(finish->stop));
  } else if (finish && std::holds_alternative<int64_t>(finish->stop)) {
    out.append(std::to_string(std::get<int64_t>(finish->stop)));
  } else {
    out.append("null");
  }
}

void append_ids(std::string& out, std::span<const TokenId> ids) {
  char separator = '[';
  for (const TokenId id : ids) {
    out.push_back(separator);
    char digits[12];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, id).ptr);
    separator = ',';
  }
  out.append(ids.empty() ? "[]" : "]");
}

namespace {

// A token that is no whole text has no bytes either: vLLM takes them from the text.
void append_chat_choice(codec::JsonWriter& json, const TokenLogprob::Choice& choice) {
  json.key("token").string(choice.text).key("logprob").number(choice.logprob).key("bytes");
  json.begin_array();
  for (const char c : choice.text) json.integer(static_cast<unsigned char>(c));
  json.end_array();
}

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

}  // namespace

void append_chat_logprobs(std::string& out, std::span<const TokenLogprob> tokens) {
  codec::JsonWriter json(out);
  json.begin_object().key("content").begin_array();
  for (const TokenLogprob& token : tokens) {
    json.begin_object();
    append_chat_choice(json, token.token);
    json.key("top_logprobs").begin_array();
    for (const TokenLogprob::Choice& choice : token.top) {
      json.begin_object();
      append_chat_choice(json, choice);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

void append_completion_logprobs(std::string& out, std::span<const TokenLogprob> tokens,
                                size_t offset) {
  codec::JsonWriter json(out);
  json.begin_object().key("text_offset").begin_array();
  for (const TokenLogprob& token : tokens) {
    json.integer(static_cast<int64_t>(offset));
    offset += characters(token.token.text);
  }
  json.end_array().key("token_logprobs").begin_array();
  for (const TokenLogprob& token : tokens) json.number(token.token.logprob);
  json.end_array().key("tokens").begin_array();
  for (const TokenLogprob& token : tokens) json.string(token.token.text);
  json.end_array().key("top_logprobs").begin_array();
  for (const TokenLogprob& token : tokens) {
    json.begin_object();
    for (const TokenLogprob::Choice& choice : token.top) {
      json.key(choice.text).number(choice.logprob);
    }
    json.end_object();
  }
  json.end_array().end_object();
}

}  // namespace fairlead::protocol
