#include "protocol/chat_template.h"

#include <gtest/gtest.h>

namespace fairlead::protocol {
namespace {

ChatMessage message(std::string role, std::string content) {
  return {.role = std::move(role), .content = std::move(content), .tool_calls = {}};
}

TEST(ChatTemplate, RendersMessagesAndThePromptForTheNext) {
  Conversation conversation{.messages = {message("system", "Be brief."), message("user", "hi")},
                            .tools = {}};
  const std::string text =
      "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n";
  EXPECT_EQ(render_chat(conversation), text + "<|im_start|>assistant\n");
  conversation.add_generation_prompt = false;
  EXPECT_EQ(render_chat(conversation), text);
}

TEST(ChatTemplate, LeavesTheFinalMessageOpenToContinueIt) {
  const Conversation conversation{
      .messages = {message("user", "hi"), message("assistant", "Well,")},
      .tools = {},
      .add_generation_prompt = false,
      .continue_final_message = true};
  EXPECT_EQ(render_chat(conversation),
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nWell,");
}

TEST(ChatTemplate, ListsToolsAndShowsCallsAndTheirAnswers) {
  ChatMessage calls = message("assistant", "");
  calls.tool_calls = {{"1", "f", "{\"a\": 1}"}, {"2", "g", ""}};
  const Conversation conversation{.messages = {message("user", "hi"), calls, message("tool", "one"),
                                               message("tool", "two"), message("user", "so?")},
                                  .tools = {{"f", "{\"type\":\"function\"}"}}};
  const std::string text = render_chat(conversation);
  EXPECT_TRUE(text.starts_with("<|im_start|>system\n\n\n# Tools\n")) << text;
  EXPECT_NE(text.find("<tools>\n{\"type\":\"function\"}\n</tools>"), std::string::npos) << text;
  EXPECT_NE(text.find("<|im_start|>assistant\n<tool_call>\n{\"name\": \"f\", \"arguments\": "
                      "{\"a\": 1}}\n</tool_call>\n<tool_call>\n{\"name\": \"g\", \"arguments\": "
                      "{}}\n</tool_call><|im_end|>\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("<|im_start|>user\n<tool_response>\none\n</tool_response>\n<tool_response>\n"
                      "two\n</tool_response><|im_end|>\n<|im_start|>user\nso?<|im_end|>\n"),
            std::string::npos)
      << text;
}

TEST(ChatTemplate, PutsToolsBehindTheSystemMessageThatIsThere) {
  const Conversation conversation{
      .messages = {message("system", "Be brief."), message("user", "x")}, .tools = {{"f", "{}"}}};
  const std::string text = render_chat(conversation);
  EXPECT_TRUE(text.starts_with("<|im_start|>system\nBe brief.\n\n# Tools\n")) << text;
  EXPECT_EQ(text.find("<|im_start|>system", 1), std::string::npos) << text;
}

}  // namespace
}  // namespace fairlead::protocol
