#include "protocol/request_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/python_text.h"

namespace fairlead::protocol {
namespace {

using codec::Json;

// vLLM raises two classes of exception: one names a parameter and prints it behind the message.
struct Rule {
  std::string message;
  std::optional<std::string> parameter{};
  std::string value{};  // repr(), empty if not given
};

std::optional<Rule> salt_rule(const Json& body) {
  const Json* salt = body.find("cache_salt");
  if (salt == nullptr || salt->is_null() || (salt->is_string() && !salt->as_string().empty())) {
    return std::nullopt;
  }
  return Rule{"Parameter 'cache_salt' must be a non-empty string if provided."};
}

std::optional<Rule> stream_options_rule(const Json& body) {
  if (!is_true(body.find("stream_options")) || is_true(body.find("stream"))) return std::nullopt;
  return Rule{"Stream options can only be defined when `stream=True`.", "stream_options"};
}

std::optional<Rule> prompt_logprobs_rule(const Json& body) {
  const Json* count = body.find("prompt_logprobs");
  if (count == nullptr || !count->is_number()) return std::nullopt;
  const double value = count->as_double();
  if (is_true(body.find("stream")) && (value > 0 || value == -1)) {
    return Rule{"`prompt_logprobs` are not available when `stream=True`.", "prompt_logprobs"};
  }
  if (value >= 0 || value == -1) return std::nullopt;
  return Rule{"`prompt_logprobs` must be a positive value or -1.", "prompt_logprobs",
              codec::to_string(*count)};
}

std::optional<Rule> top_logprobs_rule(const Json& body) {
  const Json* count = body.find("top_logprobs");
  if (count == nullptr || !count->is_number()) return std::nullopt;
  const double value = count->as_double();
  if (value < 0 && value != -1) {
    return Rule{"`top_logprobs` must be a positive value or -1.", "top_logprobs",
                codec::to_string(*count)};
  }
  if (value == 0 || is_true(body.find("logprobs"))) return std::nullopt;
  return Rule{"when using `top_logprobs`, `logprobs` must be set to true.", "top_logprobs"};
}

bool names_tool(const Json& tools, const std::string& name) {
  const auto named = [&](const Json& tool) {
    const Json* function = tool.find("function");
    const Json* own = function == nullptr ? nullptr : function->find("name");
    return own != nullptr && own->is_string() && own->as_string() == name;
  };
  return std::any_of(tools.items().begin(), tools.items().end(), named);
}

std::string printed(const Json& value) {
  if (value.is_string()) return value.as_string();
  std::string text;
  append_python_repr(text, value);
  return text;
}

std::optional<Rule> named_tool_rule(const Json& choice, const Json& tools) {
  constexpr std::string_view kUsage =
      "Correct usage: `{\"type\": \"function\", \"function\": {\"name\": \"my_function\"}}`";
  const Json* function = choice.find("function");
  if (function == nullptr || !function->is_object()) {
    return Rule{fmt::format("Invalid value for `function`: `{}` in `tool_choice`! {}",
                            function == nullptr ? "None" : printed(*function), kUsage)};
  }
  const Json* name = function->find("name");
  if (name == nullptr) {
    return Rule{fmt::format("Expected field `name` in `function` in `tool_choice`! {}", kUsage)};
  }
  if (!name->is_string() || name->as_string().empty()) {
    return Rule{fmt::format("Invalid `name` in `function`: `{}` in `tool_choice`! {}",
                            printed(*name), kUsage)};
  }
  if (names_tool(tools, name->as_string())) return std::nullopt;
  return Rule{"The tool specified in `tool_choice` does not match any of the specified `tools`"};
}

std::optional<Rule> tool_rule(const Json& body) {
  const Json* tools = body.find("tools");
  const Json* choice = body.find("tool_choice");
  if (tools != nullptr && tools->is_array() && tools->items().empty()) {
    return Rule{
        "`tools` must not be an empty array. Either provide at least one tool or omit the "
        "field entirely."};
  }
  if (choice == nullptr || choice->is_null() || choice->as_string() == "none") return std::nullopt;
  if (tools == nullptr || tools->is_null()) {
    return Rule{"When using `tool_choice`, `tools` must be set."};
  }
  if (choice->is_object()) return named_tool_rule(*choice, *tools);
  if (choice->as_string() == "auto" || choice->as_string() == "required") return std::nullopt;
  return Rule{
      fmt::format("Invalid value for `tool_choice`: {}! Only named tools, \"none\", \"auto\" "
                  "or \"required\" are supported.",
                  printed(*choice))};
}

std::optional<Rule> generation_prompt_rule(const Json& body) {
  if (!is_true(body.find("continue_final_message")) ||
      !is_true(body.find("add_generation_prompt"))) {
    return std::nullopt;
  }
  return Rule{"Cannot set both `continue_final_message` and `add_generation_prompt` to True."};
}

std::optional<Rule> prompt_rule(const Json& body) {
  const Json* prompt = body.find("prompt");
  const Json* embeds = body.find("prompt_embeds");
  const bool no_prompt = prompt == nullptr || prompt->is_null() ||
                         (prompt->is_string() && prompt->as_string().empty());
  const bool no_embeds =
      embeds == nullptr || embeds->is_null() || (embeds->is_array() && embeds->items().empty());
  if (!no_prompt || !no_embeds) return std::nullopt;
  return Rule{"Either prompt or prompt_embeds must be provided and non-empty."};
}

std::optional<Rule> completion_logprobs_rule(const Json& body) {
  const Json* count = body.find("logprobs");
  if (count == nullptr || !count->is_number() || count->as_double() >= 0) return std::nullopt;
  return Rule{"`logprobs` must be a positive value.", "logprobs", codec::to_string(*count)};
}

Refusal refuse(const Rule& rule, const Json& body, const Endpoint& endpoint) {
  std::string text = rule.message;
  if (rule.parameter) {
    text.append(" (parameter=").append(*rule.parameter);
    if (!rule.value.empty()) text.append(", value=").append(rule.value);
    text.push_back(')');
  }
  FieldError error{.type = "value_error", .message = "Value error, " + text, .input = {}};
  append_python_repr(error.input, body);
  error.context = rule.parameter ? "{'error': VLLMValidationError(" : "{'error': ValueError(";
  append_python_repr(error.context, rule.message);
  error.context.append(")}");
  return validation_error(endpoint, {&error, 1}, rule.parameter);
}

using Check = std::optional<Rule> (*)(const Json&);

Refusal first_broken(std::initializer_list<Check> checks, const Json& body,
                     const Endpoint& endpoint) {
  for (const Check check : checks) {
    if (const auto rule = check(body)) return refuse(*rule, body, endpoint);
  }
  return std::nullopt;
}

}  // namespace

Refusal check_chat_rules(const Json& body, const Endpoint& endpoint) {
  if (auto refusal = first_broken({salt_rule, generation_prompt_rule, tool_rule}, body, endpoint)) {
    return refusal;
  }
  return first_broken({prompt_logprobs_rule, top_logprobs_rule, stream_options_rule},
                      with_tool_choice(body), endpoint);
}

Refusal check_completion_rules(const Json& body, const Endpoint& endpoint) {
  return first_broken(
      {salt_rule, prompt_rule, stream_options_rule, prompt_logprobs_rule, completion_logprobs_rule},
      body, endpoint);
}

Refusal check_embedding_rules(const Json& body, const Endpoint& endpoint) {
  return first_broken({salt_rule, generation_prompt_rule}, body, endpoint);
}

Refusal check_tokenize_rules(const Json& body, const Endpoint& endpoint) {
  return first_broken({generation_prompt_rule}, body, endpoint);
}

Json with_tool_choice(Json body) {
  if (body.find("tool_choice") != nullptr || !is_true(body.find("tools"))) return body;
  std::vector<Json::Member> members(body.members().begin(), body.members().end());
  members.emplace_back("tool_choice", Json::string("auto"));
  return Json::object(std::move(members));
}

}  // namespace fairlead::protocol
