// Whole answers, byte for byte as vLLM 0.20 writes them: keys in its order, nulls included.
// Everything appends to `out`. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json.h"
#include "protocol/answer.h"

namespace fairlead::protocol {

// One text that was generated.
struct Choice {
  std::string text;
  Finish finish;
  std::vector<ToolCall> tool_calls;  // chat: if any, and no text, content is null
  std::optional<std::vector<TokenLogprob>> logprobs{};  // if asked for
  // With return_token_ids.
  std::optional<std::vector<TokenId>> token_ids{};
  // Completions: of the prompt this is an answer to, and where in the text the answer begins
  // (echo).
  std::optional<std::vector<TokenId>> prompt_token_ids{};
  size_t text_offset = 0;
};

struct Answer {
  AnswerHead head;
  std::vector<Choice> choices;
  Usage usage;
  std::optional<std::vector<TokenId>> prompt_token_ids{};  // chat, with return_token_ids
  codec::Json kv_transfer_params;                          // null if there are none
};

void append_chat_completion(std::string& out, const Answer& answer);
void append_completion(std::string& out, const Answer& answer);

// One embedding for each prompt, in their order.
void append_embeddings(std::string& out, const AnswerHead& head,
                       std::span<const std::vector<float>> embeddings, EmbeddingEncoding encoding,
                       int64_t prompt_tokens);

// One served name of an engine, or one LoRA adapter.
struct ModelCard {
  std::string id, root, permission_id;  // permission_id: "modelperm-..."
  int64_t created = 0;
  std::optional<std::string> parent{};     // of an adapter: the model it belongs to
  std::optional<int64_t> max_model_len{};  // of a model
};
void append_models(std::string& out, std::span<const ModelCard> cards);

struct Tokenized {
  std::span<const TokenId> ids;
  int64_t max_model_len = 0;
  std::optional<std::vector<std::string>> names{};  // with return_token_strs
};
void append_tokenized(std::string& out, const Tokenized& tokenized);
void append_detokenized(std::string& out, std::string_view text);
void append_version(std::string& out, std::string_view version);
void append_load(std::string& out, int64_t requests);
void append_is_sleeping(std::string& out, bool sleeping);  // NOLINT: the endpoint's own value

}  // namespace fairlead::protocol
