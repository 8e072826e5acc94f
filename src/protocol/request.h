// The requests that engines answer, read from JSON and checked as vLLM 0.20 does.
//
//   ChatRequest request;
//   if (auto refusal = parse_chat(body, request)) return refusal;
//   if (auto refusal = check_model(request.model, limits)) return refusal;
//   ...
//   if (auto refusal = check_sampling(request, prompt.size(), limits)) return refusal;
//
// vLLM answers with the first thing that is wrong, so the order of the checks is part of the
// protocol: the comment of each says when it comes. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "codec/json.h"
#include "protocol/errors.h"
#include "protocol/tokenizer.h"

namespace fairlead::protocol {

struct Sampling {
  int64_t n = 1;
  std::optional<double> temperature, top_p;
  std::optional<int64_t> top_k, seed;
  std::optional<double> min_p;
  double presence_penalty = 0, frequency_penalty = 0, repetition_penalty = 1;
  // What the client asked for; see output_limit().
  std::optional<int64_t> max_tokens;
  int64_t min_tokens = 0;
  std::vector<std::string> stop;
  std::vector<int64_t> stop_token_ids;
  bool include_stop_str_in_output = false;
  bool ignore_eos = false;
  bool skip_special_tokens = true;
  std::optional<int64_t> logprobs;  // how many alternatives a token; nullopt: no log probabilities
};

// What chat and completion requests have in common.
struct GenerateRequest {
  std::string model;  // empty: the engine's default
  Sampling sampling;
  bool stream = false;
  bool include_usage = false, continuous_usage = false;
  bool echo = false;
  bool echo_only = false;  // a completion that asks for its prompt back and no more
  bool return_token_ids = false;
  bool add_special_tokens = false;
  std::optional<int64_t> truncate_prompt_tokens;
  std::string cache_salt, request_id, user;
  int64_t priority = 0;
  codec::Json kv_transfer_params;  // as it came; null if absent
  // Which field gave sampling.max_tokens, for messages.
  std::string_view max_tokens_field = "max_tokens";
};

struct ToolCall {
  std::string id, name, arguments;  // arguments: JSON text
};

struct ChatMessage {
  std::string role, content;
  std::string name, tool_call_id, reasoning;
  std::vector<ToolCall> tool_calls;
};

struct Tool {
  std::string name;
  std::string json;  // the whole definition, compact
};

enum class ToolChoice { kNone, kAuto, kRequired, kNamed };

// The conversation itself, which chat requests and the tokenize endpoint share.
struct Conversation {
  std::vector<ChatMessage> messages;
  std::vector<Tool> tools;
  bool add_generation_prompt = true;
  bool continue_final_message = false;
};

struct ChatRequest : GenerateRequest {
  Conversation conversation;
  ToolChoice tool_choice = ToolChoice::kNone;
  std::string tool_name;         // of kNamed
  std::string unsupported_part;  // "image_url": the first part that is no text
};

using Prompt = std::variant<std::string, std::vector<TokenId>>;

struct CompletionRequest : GenerateRequest {
  std::vector<Prompt> prompts;
  std::string suffix;
};

enum class EmbeddingEncoding : uint8_t { kFloat, kBase64 };

// Without an output there is nothing to sample: sampling.max_tokens is 0, the rest stays unset.
struct EmbeddingRequest : GenerateRequest {
  std::variant<std::vector<Prompt>, Conversation> input;
  EmbeddingEncoding encoding = EmbeddingEncoding::kFloat;
  std::optional<int64_t> dimensions;
  std::string unsupported_part;  // as in ChatRequest
};

struct TokenizeRequest {
  std::string model;
  std::variant<std::string, Conversation> input;
  bool add_special_tokens = true;
  bool return_token_strs = false;
};

struct DetokenizeRequest {
  std::string model;
  std::vector<TokenId> tokens;
};

// First: the body by itself.
Refusal parse_chat(std::string_view body, ChatRequest& out);
Refusal parse_completion(std::string_view body, CompletionRequest& out);
Refusal parse_embedding(std::string_view body, EmbeddingRequest& out);
Refusal parse_tokenize(std::string_view body, TokenizeRequest& out);
Refusal parse_detokenize(std::string_view body, DetokenizeRequest& out);

// What the engine was started with.
struct EngineLimits {
  std::vector<std::string> served_names;  // the first is the default
  int64_t max_model_len = 8192;
  int64_t max_logprobs = 20;
  TokenId vocabulary = 0;
  bool auto_tool_choice = false;  // --enable-auto-tool-choice and --tool-call-parser
  // Of embeddings: how many numbers one has, and what --hf-overrides says of shorter ones.
  int64_t embedding_size = 0;
  bool is_matryoshka = false;
  std::vector<int64_t> matryoshka_dimensions;  // empty: any
};

// Second: 404 for a model that is not served.
Refusal check_model(std::string_view model, const EngineLimits& limits);
// Third, before the prompt is rendered and tokenized.
Refusal check_chat(const ChatRequest& request, const EngineLimits& limits);
Refusal check_completion(const CompletionRequest& request, const EngineLimits& limits);
Refusal check_embedding(const EmbeddingRequest& request, const EngineLimits& limits);
// Fourth, for each prompt: cuts it down to truncate_prompt_tokens, then checks its length and its
// ids.
Refusal check_prompt(const GenerateRequest& request, const EngineLimits& limits,
                     std::vector<TokenId>& prompt);
// Last: the sampling parameters with what is left for the output.
Refusal check_sampling(const GenerateRequest& request, size_t prompt_tokens,
                       const EngineLimits& limits);
// How many tokens may be generated: what was asked for, or what is left.
int64_t output_limit(const GenerateRequest& request, size_t prompt_tokens,
                     const EngineLimits& limits);

}  // namespace fairlead::protocol
