#include "codec/sse.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace fairlead::codec {
namespace {

constexpr std::string_view kStream =
    ": ping\n\n"
    "data: {\"choices\":[{\"delta\":{\"content\":\"a\\n\\nb\"}}]}\n\n"
    "event: x\r\ndata: 1\r\ndata: 2\r\n\r\n"
    "data: mixed\r\n\n"
    "\n\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\n"
    "data: [DONE]\n\n"
    "data: cut off\n";

std::vector<std::string> events(const std::vector<std::string_view>& chunks, std::string& rest) {
  SseSplitter splitter;
  std::vector<std::string> found;
  for (const std::string_view chunk : chunks) {
    EXPECT_TRUE(splitter.feed(chunk, [&](std::string_view event) { found.emplace_back(event); }));
  }
  rest = splitter.pending();
  return found;
}

TEST(SseSplitter, EndsEventsAtEmptyLinesAndLosesNoByte) {
  std::string rest;
  const auto found = events({kStream}, rest);
  ASSERT_EQ(found.size(), 7u);
  EXPECT_EQ(found[0], ": ping\n\n");
  EXPECT_EQ(found[2], "event: x\r\ndata: 1\r\ndata: 2\r\n\r\n");
  EXPECT_EQ(found[3], "data: mixed\r\n\n");
  EXPECT_EQ(found[6], "data: [DONE]\n\n");
  EXPECT_EQ(rest, "data: cut off\n");
  std::string joined;
  for (const auto& event : found) joined += event;
  EXPECT_EQ(joined + rest, kStream);
}

TEST(SseSplitter, ASplitAnywhereChangesNothing) {
  std::string rest;
  const auto whole = events({kStream}, rest);
  for (size_t i = 0; i <= kStream.size(); ++i) {
    for (size_t j = i; j <= kStream.size(); ++j) {
      std::string left;
      ASSERT_EQ(events({kStream.substr(0, i), kStream.substr(i, j - i), kStream.substr(j)}, left),
                whole);
      ASSERT_EQ(left, rest);
    }
  }
  std::vector<std::string_view> bytes;
  for (size_t i = 0; i < kStream.size(); ++i) bytes.push_back(kStream.substr(i, 1));
  std::string left;
  EXPECT_EQ(events(bytes, left), whole);
}

TEST(SseSplitter, RandomStreamsSplitAtRandomAgree) {
  base::Random random(3);
  for (int round = 0; round < 5000; ++round) {
    std::string stream;
    while (stream.size() < 40) stream.push_back("\n\n\r\rab"[random.below(6)]);
    std::string rest;
    const auto whole = events({stream}, rest);
    std::vector<std::string_view> chunks;
    std::string_view left = stream;
    while (!left.empty()) {
      chunks.push_back(left.substr(0, 1 + random.below(5)));
      left.remove_prefix(chunks.back().size());
    }
    std::string other_rest;
    ASSERT_EQ(events(chunks, other_rest), whole);
    ASSERT_EQ(other_rest, rest);
  }
}

TEST(SseSplitter, EventIsAcceptedAtTheLimitAndRefusedPastIt) {
  const auto accepts = [](std::string_view first, std::string_view second) {
    SseSplitter splitter(base::Bytes(8));
    const auto ignore = [](std::string_view) {};
    return splitter.feed(first, ignore) && splitter.feed(second, ignore) && !splitter.failed();
  };
  EXPECT_TRUE(accepts("data:x\n\n", "data:y\n\n"));
  EXPECT_FALSE(accepts("data:xy\n\n", ""));
  EXPECT_TRUE(accepts("data:", "x\n\n"));
  EXPECT_FALSE(accepts("data:", "xy\n\n"));
  EXPECT_TRUE(accepts("12345678", ""));
  EXPECT_FALSE(accepts("12345678", "9"));
  EXPECT_FALSE(accepts("123456789", ""));
  EXPECT_FALSE(accepts("123456789", "data:x\n\n"));
}

TEST(SseData, JoinsDataLinesAndSkipsTheRest) {
  std::string joined;
  EXPECT_EQ(sse_data("data: one\n\n", joined), "one");
  EXPECT_EQ(sse_data("data:  two\r\n\r\n", joined), " two");
  EXPECT_EQ(sse_data(": c\nevent: e\nid: 1\ndata:1\ndata: 2\ndata\n\n", joined), "1\n2");
  EXPECT_EQ(sse_data(": ping\n\n", joined), "");
  EXPECT_TRUE(is_done(sse_data("data: [DONE]\n\n", joined)));
}

TEST(ScanChunk, ReadsUsageOfEveryApi) {
  const Usage expected{.prompt_tokens = 267, .completion_tokens = 8, .cached_tokens = 256};
  EXPECT_EQ(scan_chunk(R"({"usage":{"prompt_tokens":267,"total_tokens":275,"completion_tokens":8,)"
                       R"("prompt_tokens_details":{"cached_tokens":256}}})")
                .usage,
            expected);
  EXPECT_EQ(scan_chunk(R"({"type":"response.completed","response":{"usage":{"input_tokens":267,)"
                       R"("output_tokens":8,"input_tokens_details":{"cached_tokens":256}}}})")
                .usage,
            expected);
  EXPECT_EQ(scan_chunk(R"({"type":"message_start","message":{"usage":{"input_tokens":267,)"
                       R"("output_tokens":8,"cache_read_input_tokens":256}}})")
                .usage,
            expected);
  const auto bare =
      scan_chunk(R"({"usage":{"prompt_tokens":3,"prompt_tokens_details":null}})").usage;
  ASSERT_TRUE(bare);
  EXPECT_FALSE(bare->cached_tokens);
}

TEST(ScanChunk, UsageOnlyChunkHasNoChoices) {
  EXPECT_TRUE(scan_chunk(R"({"choices":[ ],"usage":{"prompt_tokens":1,"completion_tokens":1}})")
                  .usage_only());
  EXPECT_FALSE(scan_chunk(R"({"choices":[{}],"usage":{"prompt_tokens":1}})").usage_only());
  EXPECT_FALSE(scan_chunk(R"({"choices":[],"usage":null})").usage_only());
  EXPECT_FALSE(scan_chunk(R"({"choices":[{"delta":{"content":"\"choices\":[],\"usage\":{}"}}]})")
                   .usage_only());
}

TEST(ScanChunk, RecognisesErrors) {
  const ChunkScan error = scan_chunk(R"({"error":{"message":"m","type":"t","code":400}})");
  EXPECT_TRUE(error.is_error);
  EXPECT_EQ(error.error_code, 400);
  EXPECT_EQ(scan_chunk(R"({"object":"error","message":"m","code":503})").error_code, 503);
  EXPECT_TRUE(scan_chunk(R"({"type":"error","error":{"type":"overloaded_error"}})").is_error);
  EXPECT_TRUE(scan_chunk(R"({"error":"text"})").is_error);
  EXPECT_FALSE(scan_chunk(R"({"error":null,"choices":[]})").is_error);
  EXPECT_FALSE(scan_chunk(R"({"choices":[{"error":{}}],"code":5})").is_error);
  EXPECT_FALSE(scan_chunk(R"({"choices":[],"code":5})").error_code);
}

TEST(ScanChunk, WhatIsNoJsonObjectSaysNothing) {
  for (const char* text :
       {"", "[DONE]", "{", "{\"usage\":{\"prompt_tokens\":1}", "[]", "{\"error\":{}} x"}) {
    const ChunkScan chunk = scan_chunk(text);
    EXPECT_FALSE(chunk.usage || chunk.choices_empty || chunk.is_error) << text;
  }
  EXPECT_FALSE(scan_chunk(R"({"usage":{"prompt_tokens":-1}})").usage);
  EXPECT_FALSE(scan_chunk(R"({"usage":{"prompt_tokens":99999999999999999999}})").usage);
}

TEST(Mentions, FindsBytes) {
  EXPECT_TRUE(mentions("data: {\"usage\":1}", "\"usage\""));
  EXPECT_FALSE(mentions("data: {\"usag\":1}", "\"usage\""));
  EXPECT_FALSE(mentions("", "x"));
}

}  // namespace
}  // namespace fairlead::codec
