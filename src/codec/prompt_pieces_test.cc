#include "codec/prompt_pieces.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlead::codec {
namespace {

// "role=user text=hi": the pieces as one line.
std::string pieces(std::string_view body, size_t stop_after = 1000) {
  const auto scan = scan_body(body);
  EXPECT_TRUE(scan) << body;
  std::string line;
  for_each_prompt_piece(body, *scan, [&](const PromptPiece& piece) {
    constexpr std::string_view kNames[] = {"role", "text", "tokens", "other", "next"};
    if (!line.empty()) line += ' ';
    line.append(kNames[static_cast<size_t>(piece.kind)]).append("=").append(piece.raw);
    return --stop_after != 0;
  });
  return line;
}

TEST(PromptPieces, MessagesYieldRoleThenContentInAnyMemberOrder) {
  EXPECT_EQ(
      pieces(R"({"messages":[{"role":"system","content":"s\n"},{"content":"u","role":"user"}]})"),
      R"(role=system text=s\n role=user text=u)");
}

TEST(PromptPieces, PartsOfEveryTextTypeAreText) {
  EXPECT_EQ(
      pieces(R"({"messages":[{"role":"user","content":[{"text":"a"},{"type":"text","text":"b"},)"
             R"({"type":"input_text","text":"c"},{"text":"d","type":"output_te\u0078t"},"e"]}]})"),
      "role=user text=a text=b text=c text=d text=e");
}

TEST(PromptPieces, WhatIsNoTextIsYieldedWhole) {
  EXPECT_EQ(pieces(R"({"messages":[{"role":"user","content":[{"type":"image_url","text":"x"}]},)"
                   R"({"role":"assistant","content":null,"tool_calls":[{"id":"1"}]},{"x":1},7]})"),
            R"(role=user other={"type":"image_url","text":"x"} role=assistant other=[{"id":"1"}] )"
            R"(other={"x":1} other=7)");
}

TEST(PromptPieces, ToolsAndSystemComeFirst) {
  EXPECT_EQ(
      pieces(R"({"messages":[{"role":"user","content":"u"}],"system":[{"type":"text","text":"s"}],)"
             R"("tools":[{"a":1}]})"),
      R"(other=[{"a":1}] text=s role=user text=u)");
  EXPECT_EQ(pieces(R"({"input":"u","instructions":"i","tools":null})"), "text=i text=u");
}

TEST(PromptPieces, PromptMayBeTextTokensOrAListOfEither) {
  EXPECT_EQ(pieces(R"({"prompt":"p"})"), "text=p");
  EXPECT_EQ(pieces(R"({"prompt":[1,2, 3]})"), "tokens=1,2, 3");
  EXPECT_EQ(pieces(R"({"prompt":["a","b"]})"), "text=a next= text=b");
  EXPECT_EQ(pieces(R"({"prompt":[[1],[2]]})"), "tokens=1 next= tokens=2");
  EXPECT_EQ(pieces(R"({"prompt":[]})"), "");
  EXPECT_EQ(pieces(R"({"prompt":null})"), "");
}

TEST(PromptPieces, InputMayBeAPromptOrMessages) {
  EXPECT_EQ(pieces(R"({"input":["a","b"]})"), "text=a next= text=b");
  EXPECT_EQ(pieces(R"({"input":[{"role":"user","content":[{"type":"input_text","text":"x"}]},)"
                   R"({"type":"function_call_output","output":"o"}]})"),
            R"(role=user text=x other={"type":"function_call_output","output":"o"})");
}

TEST(PromptPieces, StopsWhenToldTo) {
  const char* body = R"({"tools":[1],"messages":[{"role":"a","content":["b","c"]},{"role":"d"}]})";
  EXPECT_EQ(pieces(body, 1), "other=[1]");
  EXPECT_EQ(pieces(body, 3), "other=[1] role=a text=b");
  EXPECT_EQ(pieces(body, 100), "other=[1] role=a text=b text=c role=d");
}

}  // namespace
}  // namespace fairlead::codec
