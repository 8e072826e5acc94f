#include "bench/request.h"

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

void write_body(const RequestShape& shape, const workload::Prompt& prompt, std::string& out) {
  out.clear();
  codec::JsonWriter json(out);
  json.begin_object().key("model").string(shape.model);
  if (shape.api == Api::kChat) {
    json.key("messages").begin_array();
    if (!prompt.system.empty()) write_message(json, "system", prompt.system);
    write_message(json, "user", prompt.question);
    json.end_array();
  } else if (prompt.system.empty()) {
    json.key("prompt").string(prompt.question);
  } else {
    json.key("prompt").string(prompt.system + "\n\n" + prompt.question);
  }
  json.key("max_tokens").integer(shape.max_tokens).key("temperature").integer(0);
  if (shape.streaming == Streaming::kYes) {
    json.key("stream").boolean(true).key("stream_options");
    json.begin_object().key("include_usage").boolean(true).end_object();
  }
  json.end_object();
}

std::string replica_of(std::string_view explanation) {
  const auto json = codec::parse_json(explanation, {.depth = 8, .size = base::Bytes(64U << 10)});
  if (!json) return "";
  const codec::Json* replica = json->find("replica");
  return replica == nullptr ? "" : replica->as_string();
}

}  // namespace fairlead::bench
