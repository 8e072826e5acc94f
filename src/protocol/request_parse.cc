// Reading requests: the rules about the body as a whole first, then the fields in vLLM's order.
#include <fmt/format.h>

#include <algorithm>

#include "protocol/python_text.h"
#include "protocol/request.h"
#include "protocol/request_rules.h"
#include "protocol/validation.h"

namespace fairlead::protocol {
namespace {

using codec::Json;

void read_stream_options(BodyReader& reader, GenerateRequest& out) {
  const Json* options = reader.object("stream_options");
  if (options == nullptr) return;
  BodyReader inner = reader.inside("stream_options", *options);
  out.include_usage =
      inner.boolean("include_usage").value_or(options->find("include_usage") == nullptr);
  out.continuous_usage =
      out.include_usage && inner.boolean("continuous_usage_stats").value_or(false);
}

void read_common(BodyReader& reader, const Json& body, GenerateRequest& out) {
  Sampling& sampling = out.sampling;
  sampling.frequency_penalty = reader.number("frequency_penalty").value_or(0);
  sampling.presence_penalty = reader.number("presence_penalty").value_or(0);
  sampling.n = reader.integer("n").value_or(1);
  sampling.seed = reader.integer("seed");
  sampling.stop = reader.string_or_strings("stop");
  out.stream = reader.boolean("stream").value_or(false);
  sampling.temperature = reader.number("temperature");
  sampling.top_p = reader.number("top_p");
  out.user = reader.string("user").value_or("");
  sampling.top_k = reader.integer("top_k");
  sampling.min_p = reader.number("min_p");
  sampling.repetition_penalty = reader.number("repetition_penalty").value_or(1);
  sampling.stop_token_ids = reader.integers("stop_token_ids");
  sampling.include_stop_str_in_output =
      reader.boolean("include_stop_str_in_output", Null::kRefused).value_or(false);
  sampling.ignore_eos = reader.boolean("ignore_eos", Null::kRefused).value_or(false);
  sampling.min_tokens = reader.integer("min_tokens", Null::kRefused).value_or(0);
  sampling.skip_special_tokens =
      reader.boolean("skip_special_tokens", Null::kRefused).value_or(true);
  out.truncate_prompt_tokens = reader.integer("truncate_prompt_tokens");
  out.echo = reader.boolean("echo").value_or(false);
  out.priority = reader.integer("priority", Null::kRefused).value_or(0);
  out.request_id = reader.string("request_id", Null::kRefused).value_or("");
  out.return_token_ids = reader.boolean("return_token_ids").value_or(false);
  out.cache_salt = reader.string("cache_salt").value_or("");
  if (reader.object("kv_transfer_params") != nullptr) {
    out.kv_transfer_params = *body.find("kv_transfer_params");
  }
}

std::string text_of(const Json* value) {
  return value != nullptr && value->is_string() ? value->as_string() : std::string();
}

// Text parts are joined by newlines, as for templates that take strings.
std::string read_content(const Json& content, std::string& unsupported_part) {
  if (!content.is_array()) return text_of(&content);
  std::string text;
  for (const Json& part : content.items()) {
    const std::string type = part.is_string() ? "text" : text_of(part.find("type"));
    const bool is_text = type == "text" || type == "input_text" || type == "output_text" ||
                         type == "refusal" || type == "thinking" ||
                         (type.empty() && part.find("text") != nullptr);
    if (!is_text) {
      if (unsupported_part.empty()) unsupported_part = type.empty() ? "unknown" : type;
      continue;
    }
    if (!text.empty()) text.push_back('\n');
    const bool own_key = type == "refusal" || type == "thinking";
    const std::string_view key = own_key ? std::string_view(type) : "text";
    text.append(part.is_string() ? part.as_string() : text_of(part.find(key)));
  }
  return text;
}

ChatMessage read_message(const Json& message, std::string& unsupported_part) {
  ChatMessage out{.role = text_of(message.find("role")),
                  .content = {},
                  .name = text_of(message.find("name")),
                  .tool_call_id = text_of(message.find("tool_call_id")),
                  .reasoning = text_of(message.find("reasoning")),
                  .tool_calls = {}};
  if (out.reasoning.empty()) out.reasoning = text_of(message.find("reasoning_content"));
  if (const Json* content = message.find("content")) {
    out.content = read_content(*content, unsupported_part);
  }
  const Json* calls = message.find("tool_calls");
  if (calls == nullptr) return out;
  for (const Json& call : calls->items()) {
    const Json* function = call.find("function");
    if (function == nullptr) continue;
    const Json* arguments = function->find("arguments");
    out.tool_calls.push_back({.id = text_of(call.find("id")),
                              .name = text_of(function->find("name")),
                              .arguments = arguments != nullptr && arguments->is_object()
                                               ? codec::to_string(*arguments)
                                               : text_of(arguments)});
  }
  return out;
}

void read_messages(BodyReader& reader, const Json& body, Conversation& out,
                   std::string& unsupported_part) {
  if (body.find("messages") == nullptr) return reader.missing("messages");
  const Json* messages = reader.array("messages", Null::kRefused);
  if (messages == nullptr) return;
  for (size_t i = 0; i < messages->items().size(); ++i) {
    const Json& message = messages->items()[i];
    const std::string where = fmt::format(", 'messages', {}", i);
    if (!message.is_object()) {
      reader.wrong("dict_type", where, "Input should be a valid dictionary", message);
    } else if (message.find("role") == nullptr) {
      reader.wrong("missing", where + ", 'role'", "Field required", message);
    } else if (!message.find("role")->is_string()) {
      reader.wrong("string_type", where + ", 'role'", "Input should be a valid string",
                   *message.find("role"));
    } else {
      out.messages.push_back(read_message(message, unsupported_part));
    }
  }
}

void read_tools(BodyReader& reader, Conversation& out) {
  const Json* tools = reader.array("tools");
  if (tools == nullptr) return;
  for (size_t i = 0; i < tools->items().size(); ++i) {
    const Json& tool = tools->items()[i];
    const std::string where = fmt::format(", 'tools', {}", i);
    const Json* function = tool.find("function");
    const Json* name = function == nullptr ? nullptr : function->find("name");
    if (function == nullptr) {
      reader.wrong("missing", where + ", 'function'", "Field required", tool);
    } else if (name == nullptr) {
      reader.wrong("missing", where + ", 'function', 'name'", "Field required", *function);
    } else if (!name->is_string()) {
      reader.wrong("string_type", where + ", 'function', 'name'", "Input should be a valid string",
                   *name);
    } else {
      out.tools.push_back({.name = name->as_string(), .json = codec::to_string(tool)});
    }
  }
}

void read_tool_choice(const Json& body, ChatRequest& out) {
  const Json* choice = body.find("tool_choice");
  if (choice == nullptr) return;
  if (choice->as_string() == "auto") out.tool_choice = ToolChoice::kAuto;
  if (choice->as_string() == "required") out.tool_choice = ToolChoice::kRequired;
  if (!choice->is_object()) return;
  out.tool_choice = ToolChoice::kNamed;
  out.tool_name = text_of(choice->find("function")->find("name"));
}

}  // namespace

Refusal parse_chat(std::string_view text, ChatRequest& out) {
  Json body;
  if (auto refusal = parse_body(text, kChatEndpoint, body)) return refusal;
  if (auto refusal = check_chat_rules(body, kChatEndpoint)) return refusal;
  body = with_tool_choice(std::move(body));

  std::vector<FieldError> errors;
  BodyReader reader(body, errors);
  read_messages(reader, body, out.conversation, out.unsupported_part);
  out.model = reader.string("model").value_or("");
  const bool logprobs = reader.boolean("logprobs").value_or(false);
  const int64_t top_logprobs = reader.integer("top_logprobs").value_or(0);
  if (logprobs) out.sampling.logprobs = top_logprobs;
  out.sampling.max_tokens = reader.integer("max_tokens");
  if (const auto newer = reader.integer("max_completion_tokens")) {
    out.sampling.max_tokens = newer;
    out.max_tokens_field = "max_completion_tokens";
  }
  read_tools(reader, out.conversation);
  read_tool_choice(body, out);
  read_stream_options(reader, out);
  read_common(reader, body, out);
  Conversation& conversation = out.conversation;
  conversation.add_generation_prompt =
      reader.boolean("add_generation_prompt", Null::kRefused).value_or(true);
  conversation.continue_final_message =
      reader.boolean("continue_final_message", Null::kRefused).value_or(false);
  out.add_special_tokens = reader.boolean("add_special_tokens", Null::kRefused).value_or(false);
  return refusal_of(errors, kChatEndpoint);
}

namespace {

bool is_token_id(const Json& value) { return value.is_integer() && value.as_int() >= 0; }

std::vector<TokenId> token_ids(const Json& list) {
  std::vector<TokenId> ids;
  ids.reserve(list.items().size());
  for (const Json& id : list.items()) {
    ids.push_back(static_cast<TokenId>(std::min<int64_t>(id.as_int(), UINT32_MAX)));
  }
  return ids;
}

bool all_token_ids(const Json& list) {
  return list.is_array() && std::all_of(list.items().begin(), list.items().end(), is_token_id);
}

// A string, a list of strings, token ids, or a list of lists of token ids.
void read_prompts(BodyReader& reader, const Json& body, std::string_view key,
                  std::vector<Prompt>& prompts) {
  const Json* prompt = body.find(key);
  if (prompt == nullptr || prompt->is_null()) return;
  const auto items = prompt->items();
  if (prompt->is_string()) {
    prompts.emplace_back(prompt->as_string());
  } else if (prompt->is_array() && items.empty()) {
    return;
  } else if (all_token_ids(*prompt)) {
    prompts.emplace_back(token_ids(*prompt));
  } else if (std::all_of(items.begin(), items.end(), all_token_ids) && prompt->is_array()) {
    for (const Json& ids : items) prompts.emplace_back(token_ids(ids));
  } else if (std::all_of(items.begin(), items.end(), [](const Json& i) { return i.is_string(); }) &&
             prompt->is_array()) {
    for (const Json& item : items) prompts.emplace_back(item.as_string());
  } else {
    for (const std::string_view list : {"list[int]", "list[list[int]]"}) {
      reader.wrong("list_type", fmt::format(", '{}', '{}'", key, list),
                   "Input should be a valid list", *prompt);
    }
    reader.wrong("string_type", fmt::format(", '{}', 'str'", key), "Input should be a valid string",
                 *prompt);
    reader.wrong("list_type", fmt::format(", '{}', 'list[str]'", key),
                 "Input should be a valid list", *prompt);
  }
}

}  // namespace

Refusal parse_completion(std::string_view text, CompletionRequest& out) {
  Json body;
  if (auto refusal = parse_body(text, kCompletionEndpoint, body)) return refusal;
  if (auto refusal = check_completion_rules(body, kCompletionEndpoint)) return refusal;

  std::vector<FieldError> errors;
  BodyReader reader(body, errors);
  out.model = reader.string("model").value_or("");
  read_prompts(reader, body, "prompt", out.prompts);
  out.sampling.logprobs = reader.integer("logprobs");
  out.sampling.max_tokens = reader.integer("max_tokens").value_or(16);
  out.suffix = reader.string("suffix").value_or("");
  read_stream_options(reader, out);
  read_common(reader, body, out);
  out.echo_only = out.echo && out.sampling.max_tokens == 0;
  out.add_special_tokens = reader.boolean("add_special_tokens", Null::kRefused).value_or(true);
  return refusal_of(errors, kCompletionEndpoint);
}

namespace {

// One of the strings vLLM takes; the first is the default.
std::string read_choice(BodyReader& reader, const Json& body, std::string_view key,
                        std::span<const std::string_view> choices, std::string_view listed) {
  const Json* value = body.find(key);
  if (value == nullptr) return std::string(choices.front());
  if (value->is_string() &&
      std::find(choices.begin(), choices.end(), value->as_string()) != choices.end()) {
    return value->as_string();
  }
  std::string context = "{'expected': ";
  append_python_repr(context, listed);
  context.push_back('}');
  reader.wrong("literal_error", fmt::format(", '{}'", key),
               fmt::format("Input should be {}", listed), *value, std::move(context));
  return std::string(choices.front());
}

constexpr std::string_view kEncodings[] = {"float", "base64", "bytes", "bytes_only"};
constexpr std::string_view kDtypes[] = {"float32", "float16", "bfloat16", "fp8_e4m3", "fp8_e5m2"};
constexpr std::string_view kEndianness[] = {"native", "big", "little"};

// What of the encodings there is: the others are for clients of vLLM's own.
Refusal check_encoding(std::string_view encoding, std::string_view dtype,
                       std::string_view endianness) {
  const auto refuse = [](std::string_view field, std::string_view value) {
    return engine_error(400, fmt::format("{} '{}' is not simulated", field, value));
  };
  if (encoding.starts_with("bytes")) return refuse("encoding_format", encoding);
  if (encoding == "float") return std::nullopt;
  if (dtype != "float32") return refuse("embed_dtype", dtype);
  if (endianness == "big") return refuse("endianness", endianness);
  return std::nullopt;
}

}  // namespace

Refusal parse_embedding(std::string_view text, EmbeddingRequest& out) {
  Json body;
  if (auto refusal = parse_body(text, kEmbeddingEndpoint, body)) return refusal;
  if (auto refusal = check_embedding_rules(body, kEmbeddingEndpoint)) return refusal;
  std::vector<FieldError> errors;
  BodyReader reader(body, errors);
  out.model = reader.string("model").value_or("");
  out.user = reader.string("user").value_or("");
  out.truncate_prompt_tokens = reader.integer("truncate_prompt_tokens");
  out.request_id = reader.string("request_id", Null::kRefused).value_or("");
  out.priority = reader.integer("priority", Null::kRefused).value_or(0);
  out.cache_salt = reader.string("cache_salt").value_or("");
  out.sampling.max_tokens = 0;
  if (body.find("messages") != nullptr) {
    Conversation& conversation = out.input.emplace<Conversation>();
    read_messages(reader, body, conversation, out.unsupported_part);
    conversation.add_generation_prompt =
        reader.boolean("add_generation_prompt", Null::kRefused).value_or(false);
    conversation.continue_final_message =
        reader.boolean("continue_final_message", Null::kRefused).value_or(false);
  } else {
    const Json* input = body.find("input");
    if (input == nullptr) {
      reader.missing("input");
    } else {
      read_prompts(reader, body, "input", std::get<std::vector<Prompt>>(out.input));
    }
  }
  out.add_special_tokens = reader.boolean("add_special_tokens", Null::kRefused)
                               .value_or(std::holds_alternative<std::vector<Prompt>>(out.input));
  const std::string encoding = read_choice(reader, body, "encoding_format", kEncodings,
                                           "'float', 'base64', 'bytes' or 'bytes_only'");
  const std::string dtype =
      read_choice(reader, body, "embed_dtype", kDtypes,
                  "'float32', 'float16', 'bfloat16', 'fp8_e4m3' or 'fp8_e5m2'");
  const std::string endianness =
      read_choice(reader, body, "endianness", kEndianness, "'native', 'big' or 'little'");
  out.dimensions = reader.integer("dimensions");
  if (encoding == "base64") out.encoding = EmbeddingEncoding::kBase64;
  if (auto refusal = refusal_of(errors, kEmbeddingEndpoint)) return refusal;
  return check_encoding(encoding, dtype, endianness);
}

Refusal parse_tokenize(std::string_view text, TokenizeRequest& out) {
  Json body;
  if (auto refusal = parse_body(text, kTokenizeEndpoint, body)) return refusal;
  if (auto refusal = check_tokenize_rules(body, kTokenizeEndpoint)) return refusal;
  std::vector<FieldError> errors;
  BodyReader reader(body, errors);
  out.model = reader.string("model").value_or("");
  out.return_token_strs = reader.boolean("return_token_strs").value_or(false);
  const bool chat = body.find("messages") != nullptr || body.find("prompt") == nullptr;
  out.add_special_tokens = reader.boolean("add_special_tokens", Null::kRefused).value_or(!chat);
  if (!chat) {
    out.input = reader.string("prompt", Null::kRefused).value_or("");
    return refusal_of(errors, kTokenizeEndpoint);
  }
  Conversation& conversation = out.input.emplace<Conversation>();
  std::string unsupported_part;
  read_messages(reader, body, conversation, unsupported_part);
  read_tools(reader, conversation);
  conversation.add_generation_prompt =
      reader.boolean("add_generation_prompt", Null::kRefused).value_or(true);
  conversation.continue_final_message =
      reader.boolean("continue_final_message", Null::kRefused).value_or(false);
  return refusal_of(errors, kTokenizeEndpoint);
}

Refusal parse_detokenize(std::string_view text, DetokenizeRequest& out) {
  Json body;
  if (auto refusal = parse_body(text, kDetokenizeEndpoint, body)) return refusal;
  std::vector<FieldError> errors;
  BodyReader reader(body, errors);
  out.model = reader.string("model").value_or("");
  if (body.find("tokens") == nullptr) reader.missing("tokens");
  const std::vector<int64_t> tokens = reader.integers("tokens", Null::kRefused);
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0) {
      reader.wrong("greater_than_equal", fmt::format(", 'tokens', {}", i),
                   "Input should be greater than or equal to 0", Json::integer(tokens[i]));
    } else {
      out.tokens.push_back(static_cast<TokenId>(std::min<int64_t>(tokens[i], UINT32_MAX)));
    }
  }
  return refusal_of(errors, kDetokenizeEndpoint);
}

}  // namespace fairlead::protocol
