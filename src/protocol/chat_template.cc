#include "protocol/chat_template.h"

#include <string_view>

#include "codec/json.h"

namespace fairlead::protocol {
namespace {

constexpr std::string_view kStart = "<|im_start|>", kEnd = "<|im_end|>\n";

void open(std::string& out, std::string_view role) {
  out.append(kStart).append(role).push_back('\n');
}

void append_tools(std::string& out, const std::vector<Tool>& tools) {
  out.append("\n\n# Tools\n\nFunctions you may call, one JSON definition a line:\n<tools>\n");
  for (const Tool& tool : tools) out.append(tool.json).push_back('\n');
  out.append(
      "</tools>\n\nTo call one, answer with its name and arguments in this form:\n<tool_call>\n"
      "{\"name\": NAME, \"arguments\": OBJECT}\n</tool_call>");
}

void append_calls(std::string& out, const ChatMessage& message) {
  for (const ToolCall& call : message.tool_calls) {
    if (!out.ends_with('\n')) out.push_back('\n');
    out.append("<tool_call>\n{\"name\": ");
    codec::append_json_string(out, call.name);
    out.append(", \"arguments\": ");
    out.append(call.arguments.empty() ? "{}" : call.arguments);
    out.append("}\n</tool_call>");
  }
}

}  // namespace

std::string render_chat(const Conversation& conversation) {
  std::string out;
  size_t next = 0;
  const auto& messages = conversation.messages;
  if (!conversation.tools.empty()) {
    open(out, "system");
    if (!messages.empty() && messages[0].role == "system") out.append(messages[next++].content);
    append_tools(out, conversation.tools);
    out.append(kEnd);
  }
  bool in_responses = false;
  for (; next < messages.size(); ++next) {
    const ChatMessage& message = messages[next];
    const bool last = next + 1 == messages.size();
    if (message.role == "tool") {
      // Answers to one turn's calls share a message.
      if (!in_responses) open(out, "user");
      if (in_responses) out.push_back('\n');
      out.append("<tool_response>\n").append(message.content).append("\n</tool_response>");
      in_responses = !last && messages[next + 1].role == "tool";
      if (!in_responses) out.append(kEnd);
      continue;
    }
    open(out, message.role);
    out.append(message.content);
    append_calls(out, message);
    if (!(last && conversation.continue_final_message)) out.append(kEnd);
  }
  if (conversation.add_generation_prompt) open(out, "assistant");
  return out;
}

}  // namespace fairlead::protocol
