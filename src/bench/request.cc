#include "bench/request.h"

#include <fmt/format.h>

#include "codec/json.h"

namespace fairlead::bench {
namespace {

void write_message(codec::JsonWriter& json, std::string_view role, std::string_view content) {
  json.begin_object().key("role").string(role).key("content").string(content).end_object();
}

}  // namespace

std::string_view path_of(Api api) {
  return api == Api::kChat ? "/v1/chat/completions" : "/v1/completions";
}

void write_body(const RequestShape& shape, const RequestText& text, std::string& out) {
  out.clear();
  codec::JsonWriter json(out);
  json.begin_object().key("model").string(shape.model);
  if (shape.api == Api::kChat) {
    json.key("messages").begin_array();
    if (!text.system.empty()) write_message(json, "system", text.system);
    for (const std::string& message : text.history) json.raw(message);
    write_message(json, "user", text.question);
    json.end_array();
  } else if (text.system.empty()) {
    json.key("prompt").string(text.question);
  } else {
    json.key("prompt").string(fmt::format("{}\n\n{}", text.system, text.question));
  }
  json.key("max_tokens").integer(text.output_tokens.value_or(shape.max_tokens));
  json.key("temperature").integer(0);
  // vLLM's and SGLang's; only what was recorded needs it.
  if (text.output_tokens) json.key("ignore_eos").boolean(true);
  if (shape.streaming == Streaming::kYes) {
    json.key("stream").boolean(true).key("stream_options");
    json.begin_object().key("include_usage").boolean(true).end_object();
  }
  json.end_object();
}

std::string user_message(std::string_view content) {
  std::string out;
  codec::JsonWriter json(out);
  write_message(json, "user", content);
  return out;
}

std::string assistant_message(std::string_view content_json) {
  return fmt::format(R"({{"role":"assistant","content":"{}"}})", content_json);
}

std::string replica_of(std::string_view explanation) {
  const auto json = codec::parse_json(explanation, {.depth = 8, .size = base::Bytes(64U << 10)});
  if (!json) return "";
  const codec::Json* replica = json->find("replica");
  return replica == nullptr ? "" : replica->as_string();
}

}  // namespace fairlead::bench
