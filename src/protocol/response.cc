#include "protocol/response.h"

#include <bit>

#include "base/base64.h"

namespace fairlead::protocol {
namespace {

using codec::JsonWriter;

void append_head(JsonWriter& json, const AnswerHead& head, std::string_view object) {
  json.begin_object().key("id").string(head.id).key("object").string(object);
  json.key("created").integer(head.created).key("model").string(head.model);
}

void append_tool_calls(JsonWriter& json, const std::vector<ToolCall>& calls) {
  json.begin_array();
  for (const ToolCall& call : calls) {
    json.begin_object().key("id").string(call.id).key("type").string("function");
    json.key("function").begin_object().key("name").string(call.name);
    json.key("arguments").string(call.arguments).end_object().end_object();
  }
  json.end_array();
}

template <class Append>
void member(JsonWriter& json, std::string_view key, const Append& append) {
  std::string value;
  append(value);
  json.key(key).raw(value);
}

void ids_or_null(JsonWriter& json, std::string_view key,
                 const std::optional<std::vector<TokenId>>& ids) {
  if (!ids) {
    json.key(key).null();
    return;
  }
  member(json, key, [&](std::string& out) { append_ids(out, *ids); });
}

void append_finish(JsonWriter& json, const Finish& finish) {
  member(json, "finish_reason", [&](std::string& out) { append_finish_reason(out, finish); });
  member(json, "stop_reason", [&](std::string& out) { append_stop_reason(out, finish); });
}

void append_chat_choice(JsonWriter& json, const Choice& choice, size_t index) {
  json.begin_object().key("index").integer(static_cast<int64_t>(index));
  json.key("message").begin_object().key("role").string("assistant").key("content");
  if (choice.text.empty() && !choice.tool_calls.empty()) {
    json.null();
  } else {
    json.string(choice.text);
  }
  for (const char* absent : {"refusal", "annotations", "audio", "function_call"}) {
    json.key(absent).null();
  }
  json.key("tool_calls");
  append_tool_calls(json, choice.tool_calls);
  json.key("reasoning").null().end_object();
  if (choice.logprobs) {
    member(json, "logprobs",
           [&](std::string& out) { append_chat_logprobs(out, *choice.logprobs); });
  } else {
    json.key("logprobs").null();
  }
  append_finish(json, choice.finish);
  ids_or_null(json, "token_ids", choice.token_ids);
  json.end_object();
}

void append_completion_choice(JsonWriter& json, const Choice& choice, size_t index) {
  json.begin_object().key("index").integer(static_cast<int64_t>(index));
  json.key("text").string(choice.text);
  if (choice.logprobs) {
    member(json, "logprobs", [&](std::string& out) {
      append_completion_logprobs(out, *choice.logprobs, choice.text_offset);
    });
  } else {
    json.key("logprobs").null();
  }
  append_finish(json, choice.finish);
  ids_or_null(json, "token_ids", choice.token_ids);
  json.key("prompt_logprobs").null();
  ids_or_null(json, "prompt_token_ids", choice.prompt_token_ids);
  json.end_object();
}

void append_tail(JsonWriter& json, const Answer& answer) {
  json.key("service_tier").null().key("system_fingerprint").null();
  member(json, "usage",
         [&](std::string& out) { append_usage(out, answer.usage, Details::kAlways); });
}

}  // namespace

void append_chat_completion(std::string& out, const Answer& answer) {
  JsonWriter json(out);
  append_head(json, answer.head, "chat.completion");
  json.key("choices").begin_array();
  for (size_t i = 0; i < answer.choices.size(); ++i) append_chat_choice(json, answer.choices[i], i);
  json.end_array();
  append_tail(json, answer);
  json.key("prompt_logprobs").null();
  ids_or_null(json, "prompt_token_ids", answer.prompt_token_ids);
  json.key("kv_transfer_params").value(answer.kv_transfer_params).end_object();
}

void append_completion(std::string& out, const Answer& answer) {
  JsonWriter json(out);
  append_head(json, answer.head, "text_completion");
  json.key("choices").begin_array();
  for (size_t i = 0; i < answer.choices.size(); ++i) {
    append_completion_choice(json, answer.choices[i], i);
  }
  json.end_array();
  append_tail(json, answer);
  json.key("kv_transfer_params").value(answer.kv_transfer_params).end_object();
}

void append_embeddings(std::string& out, const AnswerHead& head,
                       std::span<const std::vector<float>> embeddings, EmbeddingEncoding encoding,
                       int64_t prompt_tokens) {
  JsonWriter json(out);
  json.begin_object().key("id").string(head.id).key("object").string("list");
  json.key("created").integer(head.created).key("model").string(head.model);
  json.key("data").begin_array();
  std::string text;
  for (size_t i = 0; i < embeddings.size(); ++i) {
    json.begin_object().key("index").integer(static_cast<int64_t>(i));
    json.key("object").string("embedding").key("embedding");
    if (encoding == EmbeddingEncoding::kBase64) {
      static_assert(std::endian::native == std::endian::little);
      text.clear();
      base::append_base64(text, std::as_bytes(std::span(embeddings[i])));
      json.string(text);
    } else {
      json.begin_array();
      for (const float value : embeddings[i]) json.number(static_cast<double>(value));
      json.end_array();
    }
    json.end_object();
  }
  json.end_array();
  member(json, "usage", [&](std::string& usage) {
    append_usage(usage, {.prompt_tokens = prompt_tokens}, Details::kAlways);
  });
  json.end_object();
}

void append_models(std::string& out, std::span<const ModelCard> cards) {
  JsonWriter json(out);
  json.begin_object().key("object").string("list").key("data").begin_array();
  for (const ModelCard& card : cards) {
    json.begin_object().key("id").string(card.id).key("object").string("model");
    json.key("created").integer(card.created).key("owned_by").string("vllm");
    json.key("root").string(card.root).key("parent");
    if (card.parent) {
      json.string(*card.parent);
    } else {
      json.null();
    }
    json.key("max_model_len");
    if (card.max_model_len) {
      json.integer(*card.max_model_len);
    } else {
      json.null();
    }
    json.key("permission").begin_array().begin_object().key("id").string(card.permission_id);
    json.key("object").string("model_permission").key("created").integer(card.created);
    json.key("allow_create_engine").boolean(false).key("allow_sampling").boolean(true);
    json.key("allow_logprobs").boolean(true).key("allow_search_indices").boolean(false);
    json.key("allow_view").boolean(true).key("allow_fine_tuning").boolean(false);
    json.key("organization").string("*").key("group").null().key("is_blocking").boolean(false);
    json.end_object().end_array().end_object();
  }
  json.end_array().end_object();
}

void append_tokenized(std::string& out, const Tokenized& tokenized) {
  JsonWriter json(out);
  json.begin_object().key("count").integer(static_cast<int64_t>(tokenized.ids.size()));
  json.key("max_model_len").integer(tokenized.max_model_len);
  member(json, "tokens", [&](std::string& ids) { append_ids(ids, tokenized.ids); });
  json.key("token_strs");
  if (tokenized.names) {
    json.begin_array();
    for (const std::string& name : *tokenized.names) json.string(name);
    json.end_array();
  } else {
    json.null();
  }
  json.end_object();
}

void append_detokenized(std::string& out, std::string_view text) {
  JsonWriter(out).begin_object().key("prompt").string(text).end_object();
}

void append_version(std::string& out, std::string_view version) {
  JsonWriter(out).begin_object().key("version").string(version).end_object();
}

void append_load(std::string& out, int64_t requests) {
  JsonWriter(out).begin_object().key("server_load").integer(requests).end_object();
}

void append_is_sleeping(std::string& out, bool sleeping) {
  JsonWriter(out).begin_object().key("is_sleeping").boolean(sleeping).end_object();
}

}  // namespace fairlead::protocol
