#include "engine/tools.h"

#include <algorithm>

#include "codec/json.h"

namespace fairlead::engine {

namespace {

using codec::Json;
using codec::JsonWriter;

constexpr int kDepthMax = 8;  // deeper parts of a schema become null

void write_value(JsonWriter& out, const Json& schema, int depth);

bool is_required(const Json& schema, std::string_view name) {
  const Json* required = schema.find("required");
  if (required == nullptr) return true;
  return std::any_of(required->items().begin(), required->items().end(),
                     [&](const Json& item) { return item.as_string() == name; });
}

void write_object(JsonWriter& out, const Json& schema, int depth) {
  out.begin_object();
  if (const Json* properties = schema.find("properties")) {
    for (const auto& [name, value] : properties->members()) {
      if (!is_required(schema, name)) continue;
      out.key(name);
      write_value(out, value, depth + 1);
    }
  }
  out.end_object();
}

// The first of several allowed types.
const std::string& type_of(const Json& schema) {
  static const std::string kNone;
  const Json* type = schema.find("type");
  if (type == nullptr) return kNone;
  return type->is_array() && !type->items().empty() ? type->items()[0].as_string()
                                                    : type->as_string();
}

void write_value(JsonWriter& out, const Json& schema, int depth) {
  if (depth > kDepthMax) {
    out.null();
    return;
  }
  const Json* options = schema.find("enum");
  const std::string& type = type_of(schema);
  if (options != nullptr && !options->items().empty()) {
    out.value(options->items()[0]);
  } else if (type == "string") {
    out.string("text");
  } else if (type == "integer" || type == "number") {
    const Json* minimum = schema.find("minimum");
    if (minimum != nullptr && minimum->is_number()) {
      out.value(*minimum);
    } else {
      out.integer(1);
    }
  } else if (type == "boolean") {
    out.boolean(true);
  } else if (type == "array") {
    out.begin_array();
    if (const Json* items = schema.find("items")) write_value(out, *items, depth + 1);
    out.end_array();
  } else if (type == "object" || schema.find("properties") != nullptr) {
    write_object(out, schema, depth);
  } else {
    out.null();
  }
}

std::string arguments_for(const protocol::Tool& tool) {
  std::string out;
  JsonWriter json(out);
  auto definition = codec::parse_json(tool.json);
  const Json* function = definition ? definition->find("function") : nullptr;
  const Json* parameters = function != nullptr ? function->find("parameters") : nullptr;
  if (parameters != nullptr && parameters->is_object()) {
    write_object(json, *parameters, 0);
  } else {
    json.begin_object().end_object();
  }
  return out;
}

}  // namespace

std::optional<ToolPlan> plan_tool_call(const protocol::ChatRequest& request) {
  using protocol::ToolChoice;
  const auto& [messages, tools, add_generation_prompt, continue_final] = request.conversation;
  const ToolChoice choice = request.tool_choice;
  if (tools.empty() || choice == ToolChoice::kNone) return std::nullopt;
  if (choice == ToolChoice::kAuto && (messages.empty() || messages.back().role != "user")) {
    return std::nullopt;
  }
  const auto named = std::find_if(tools.begin(), tools.end(), [&](const protocol::Tool& tool) {
    return tool.name == request.tool_name;
  });
  const protocol::Tool& tool =
      choice == ToolChoice::kNamed && named != tools.end() ? *named : tools.front();

  ToolPlan plan{.name = tool.name, .arguments = arguments_for(tool), .text = {}};
  std::string quoted_name;
  codec::append_json_string(quoted_name, tool.name);
  // A named call is decoded as its arguments alone, a required one as a list, a free one as text
  // that the hermes parser reads.
  std::string after;
  if (choice == ToolChoice::kAuto) {
    plan.text = "<tool_call>\n{\"name\": " + quoted_name + ", \"arguments\": ";
    after = "}\n</tool_call>";
  } else if (choice == ToolChoice::kRequired) {
    plan.text = "[{\"name\": " + quoted_name + ", \"parameters\": ";
    after = "}]";
  }
  plan.arguments_at = plan.text.size();
  plan.text += plan.arguments + after;
  return plan;
}

}  // namespace fairlead::engine
