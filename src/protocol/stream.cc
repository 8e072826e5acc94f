#include "protocol/stream.h"

#include <charconv>

#include "codec/json.h"

namespace fairlead::protocol {
namespace {

std::string prefix(const AnswerHead& head, std::string_view object) {
  std::string text = "data: ";
  codec::JsonWriter json(text);
  json.begin_object().key("id").string(head.id).key("object").string(object);
  json.key("created").integer(head.created).key("model").string(head.model).key("choices");
  text.push_back('[');
  return text;
}

void append_number(std::string& out, uint32_t number) {
  if (number < 10) return out.push_back(static_cast<char>('0' + number));
  char digits[12];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void append_optional_ids(std::string& out, const std::optional<std::span<const TokenId>>& ids) {
  ids ? append_ids(out, *ids) : void(out.append("null"));
}

void append_usage_chunk(std::string& out, std::string_view prefix, const Usage& usage) {
  out.append(prefix).append("],\"usage\":");
  append_usage(out, usage, Details::kIfKnown);
  out.append("}\n\n");
}

}  // namespace

ChatStream::ChatStream(const AnswerHead& head) : prefix_(prefix(head, "chat.completion.chunk")) {}

void ChatStream::begin(std::string& out, uint32_t index) const {
  out.append(prefix_).append("{\"index\":");
  append_number(out, index);
}

void ChatStream::role(std::string& out, uint32_t index, const Role& role) const {
  begin(out, index);
  out.append(
      ",\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,"
      "\"finish_reason\":null}]");
  if (role.usage) {
    out.append(",\"usage\":");
    append_usage(out, *role.usage, Details::kIfKnown);
  }
  out.append(",\"prompt_token_ids\":");
  append_optional_ids(out, role.prompt_token_ids);
  out.append("}\n\n");
}

void ChatStream::end(std::string& out, const Delta& delta) const {
  // Nearly all chunks are plain text.
  if (!delta.finish && !delta.usage && !delta.token_ids && !delta.logprobs) {
    out.append(",\"logprobs\":null,\"finish_reason\":null,\"token_ids\":null}]}\n\n");
    return;
  }
  out.append(",\"logprobs\":");
  delta.logprobs ? append_chat_logprobs(out, *delta.logprobs) : void(out.append("null"));
  out.append(",\"finish_reason\":");
  append_finish_reason(out, delta.finish);
  if (delta.finish) {
    out.append(",\"stop_reason\":");
    append_stop_reason(out, delta.finish);
  }
  out.append(",\"token_ids\":");
  append_optional_ids(out, delta.token_ids);
  out.append("}]");
  if (delta.usage) {
    out.append(",\"usage\":");
    append_usage(out, *delta.usage, Details::kIfKnown);
  }
  out.append("}\n\n");
}

void ChatStream::delta(std::string& out, const Delta& delta) const {
  begin(out, delta.index);
  out.append(",\"delta\":{\"content\":");
  codec::append_json_string(out, delta.text);
  out.push_back('}');
  end(out, delta);
}

void ChatStream::tool_call(std::string& out, uint32_t index, uint32_t call,
                           const ToolCall& tool) const {
  begin(out, index);
  out.append(",\"delta\":{\"tool_calls\":[{\"id\":");
  codec::append_json_string(out, tool.id);
  out.append(",\"type\":\"function\",\"index\":");
  append_number(out, call);
  out.append(",\"function\":{\"name\":");
  codec::append_json_string(out, tool.name);
  out.append(",\"arguments\":\"\"}}]}");
  end(out, {});
}

void ChatStream::tool_arguments(std::string& out, uint32_t index, uint32_t call,
                                std::string_view arguments) const {
  begin(out, index);
  out.append(",\"delta\":{\"tool_calls\":[{\"index\":");
  append_number(out, call);
  out.append(",\"function\":{\"arguments\":");
  codec::append_json_string(out, arguments);
  out.append("}}]}");
  end(out, {});
}

void ChatStream::finish(std::string& out, uint32_t index, const Finish& finish,
                        const std::optional<Usage>& usage) const {
  begin(out, index);
  out.append(",\"delta\":{}");
  end(out, {.finish = finish, .usage = usage});
}

void ChatStream::usage(std::string& out, const Usage& usage) const {
  append_usage_chunk(out, prefix_, usage);
}

CompletionStream::CompletionStream(const AnswerHead& head)
    : prefix_(prefix(head, "text_completion")) {}

void CompletionStream::delta(std::string& out, const Delta& delta) const {
  out.append(prefix_).append("{\"index\":");
  append_number(out, delta.index);
  out.append(",\"text\":");
  codec::append_json_string(out, delta.text);
  if (!delta.finish && !delta.usage && !delta.token_ids && !delta.logprobs &&
      !delta.prompt_token_ids) {
    out.append(
        ",\"logprobs\":null,\"finish_reason\":null,\"stop_reason\":null,"
        "\"prompt_token_ids\":null,\"token_ids\":null}],\"usage\":null}\n\n");
    return;
  }
  out.append(",\"logprobs\":");
  delta.logprobs ? append_completion_logprobs(out, *delta.logprobs, delta.text_offset)
                 : void(out.append("null"));
  out.append(",\"finish_reason\":");
  append_finish_reason(out, delta.finish);
  out.append(",\"stop_reason\":");
  append_stop_reason(out, delta.finish);
  out.append(",\"prompt_token_ids\":");
  append_optional_ids(out, delta.prompt_token_ids);
  out.append(",\"token_ids\":");
  append_optional_ids(out, delta.token_ids);
  out.append("}],\"usage\":");
  delta.usage ? append_usage(out, *delta.usage, Details::kAlways) : void(out.append("null"));
  out.append("}\n\n");
}

void CompletionStream::usage(std::string& out, const Usage& usage) const {
  append_usage_chunk(out, prefix_, usage);
}

void append_done(std::string& out) { out.append("data: [DONE]\n\n"); }

}  // namespace fairlead::protocol
