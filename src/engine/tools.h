// Which tool a simulated model calls, and with what: enough for an agent's loop to run. With "auto"
// a tool is called when the user has spoken last, and words follow when the tool has answered.
// Pure.
#pragma once

#include <optional>
#include <string>

#include "protocol/request.h"

namespace fairlead::engine {

struct ToolPlan {
  std::string name;
  std::string arguments;  // JSON that fits the tool's schema, as far as the schema is simple
  // What the model writes, and where in it the arguments begin.
  std::string text;
  size_t arguments_at = 0;
};

// Nothing: the answer is text.
std::optional<ToolPlan> plan_tool_call(const protocol::ChatRequest& request);

}  // namespace fairlead::engine
