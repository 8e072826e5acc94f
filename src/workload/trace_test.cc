#include "workload/trace.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

namespace fairlead::workload {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

base::Result<Trace> read(TraceFormat format, std::string_view text) {
  TraceReader reader(format);
  if (auto fed = reader.feed(text); !fed) return fed.error();
  return reader.finish();
}

Trace mooncake(std::string_view text) { return read(TraceFormat::kMooncake, text).value(); }
Trace sharegpt(std::string_view text) { return read(TraceFormat::kShareGpt, text).value(); }

std::string why_not(TraceFormat format, std::string_view text) {
  const auto trace = read(format, text);
  return trace ? "taken" : trace.error().message();
}

std::string line(std::string_view at, std::string_view input, std::string_view ids,
                 std::string_view output = "5") {
  return fmt::format(
      R"({{"timestamp": {}, "input_length": {}, "output_length": {}, "hash_ids": [{}]}})", at,
      input, output, ids);
}

TEST(MooncakeTrace, IsOneRequestALine) {
  const Trace trace =
      mooncake(line("100", "513", "7,8") + "\r\n\n" + line("3100.5", "512", "7", "0"));
  ASSERT_EQ(trace.size(), 2U);
  EXPECT_EQ(trace[0].at, 0ms) << "times count from the first";
  EXPECT_EQ(trace[1].at, 3000ms + 500us);
  ASSERT_EQ(trace[0].turns.size(), 1U);
  EXPECT_EQ(trace[0].turns[0].prompt_tokens, 513U);
  EXPECT_EQ(trace[0].turns[0].output_tokens, 5U);
  EXPECT_THAT(trace[0].turns[0].blocks, ElementsAre(7, 8));
  EXPECT_EQ(trace[1].turns[0].output_tokens, 1U) << "an answer has a token";
}

TEST(MooncakeTrace, IsPutInTheOrderOfItsTimes) {
  const Trace trace = mooncake(line("30", "1", "3") + line("10", "1", "1") + line("10", "1", "2"));
  EXPECT_THAT(trace[0].turns[0].blocks, ElementsAre(1));
  EXPECT_THAT(trace[1].turns[0].blocks, ElementsAre(2));
  EXPECT_THAT(trace[2].turns[0].blocks, ElementsAre(3));
  EXPECT_EQ(trace[2].at, 20ms);
}

TEST(MooncakeTrace, IsRefusedWithLineFieldAndValue) {
  const auto why = [](std::string_view text) { return why_not(TraceFormat::kMooncake, text); };
  EXPECT_EQ(why(line("0", "1", "1") + "\n" + line("-1", "1", "1")),
            "line 2: timestamp is -1: allowed are 0 to 1000000000000");
  EXPECT_THAT(why(line("0", "0", "")), HasSubstr("input_length is 0"));
  EXPECT_EQ(why(line("0", "4000001", "1")),
            "line 1: input_length is 4000001: allowed are 1 to 4000000");
  EXPECT_THAT(why(line("0", "4000000", "1")), HasSubstr("needs 7813"));
  EXPECT_THAT(why(line("0", "513", "1")),
              HasSubstr("hash_ids has 1 items: an input_length of 513 needs 2"));
  EXPECT_THAT(why(line("0", "1", "\"a\"")), HasSubstr("no integer"));
  EXPECT_THAT(why(line("0", "1", "1", "\"a\"")),
              HasSubstr("output_length is missing or no number"));
  EXPECT_THAT(why("{}"), HasSubstr("timestamp is missing"));
  EXPECT_THAT(why("\n\nno trace"), HasSubstr("line 3: expected an object, found byte 0x6e"));
  EXPECT_THAT(why("{\"timestamp\": 0"), HasSubstr("line 1: the object that begins here"));
  EXPECT_THAT(why("{\"timestamp\" 0}"), HasSubstr("line 1: JSON"));
  EXPECT_THAT(why(""), HasSubstr("no request in it"));
}

// The object's opening brace counts.
TEST(MooncakeTrace, BoundsAnObject) {
  TraceReader reader(TraceFormat::kMooncake);
  ASSERT_TRUE(reader.feed("{").ok());
  ASSERT_TRUE(reader.feed(std::string(TraceReader::kItemBytesMax - 1, ' ')).ok());
  EXPECT_THAT(reader.feed(" ").error().message(), HasSubstr("longer than 16777216 bytes"));
}

constexpr std::string_view kConversation =
    R"({"id": "a", "conversations": [{"from": "system", "value": "Be brief."},
        {"from": "human", "value": "What is a {\"pod\"}?"}, {"from": "gpt", "value": "12345678."},
        {"from": "human", "value": "Why?"}]})";

TEST(ShareGptTrace, HasATurnForEachMessageOfTheUser) {
  const Trace trace = sharegpt(fmt::format("[\n{}\n]", kConversation));
  ASSERT_EQ(trace.size(), 1U);
  EXPECT_EQ(trace[0].system, "Be brief.");
  EXPECT_EQ(trace[0].at, std::nullopt);
  ASSERT_EQ(trace[0].turns.size(), 2U);
  EXPECT_EQ(trace[0].turns[0].question, "What is a {\"pod\"}?");
  EXPECT_EQ(trace[0].turns[0].output_tokens, 3U) << "nine bytes";
  EXPECT_EQ(trace[0].turns[1].question, "Why?");
  EXPECT_EQ(trace[0].turns[1].output_tokens, std::nullopt) << "nobody answered";
}

TEST(ShareGptTrace, IsReadFromArraysLinesAndOpenAisNames) {
  const std::string openai =
      R"({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]})";
  EXPECT_EQ(sharegpt(fmt::format("[{},{}]", openai, openai)).size(), 2U);
  EXPECT_EQ(sharegpt(openai + "\n" + openai).size(), 2U);
  EXPECT_EQ(sharegpt(openai)[0].turns[0].question, "Hi");
  EXPECT_EQ(sharegpt(openai)[0].turns[0].output_tokens, 1U);
}

TEST(ShareGptTrace, PassesOverWhatNobodyAsked) {
  const std::string text =
      R"([{"id": "no messages"}, {"conversations": []},
          {"conversations": [{"from": "gpt", "value": "unasked"}]},
          {"conversations": [{"from": "gpt", "value": "unasked"}, {"from": "human", "value": "Q"},
                             {"from": "human", "value": ""}, {"from": "tool", "value": "T"}, 7]}])";
  const Trace trace = sharegpt(text);
  ASSERT_EQ(trace.size(), 1U);
  ASSERT_EQ(trace[0].turns.size(), 1U);
  EXPECT_EQ(trace[0].turns[0].output_tokens, std::nullopt);
  EXPECT_THAT(why_not(TraceFormat::kShareGpt, R"([{"conversations": []}])"),
              HasSubstr("no conversation in it that a user began"));
}

TEST(TraceReader, ReadsTheSameWhereverTheFileIsCut) {
  const std::string text = fmt::format("[{}, {}]", kConversation, kConversation);
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    TraceReader reader(TraceFormat::kShareGpt);
    ASSERT_TRUE(reader.feed(std::string_view(text).substr(0, cut)).ok()) << cut;
    ASSERT_TRUE(reader.feed(std::string_view(text).substr(cut)).ok()) << cut;
    const auto trace = reader.finish();
    ASSERT_TRUE(trace.ok()) << cut;
    ASSERT_EQ(trace->size(), 2U) << cut;
    ASSERT_EQ((*trace)[1].turns[0].question, "What is a {\"pod\"}?") << cut;
  }
}

TEST(TraceReader, ReadsThePublicTracesOutsideTheRepository) {
  const char* folder = std::getenv("FAIRLEAD_TRACES");
  const std::string path = fmt::format("{}/mooncake_conversation.jsonl", folder ? folder : "");
  if (folder == nullptr || !std::filesystem::exists(path)) {
    GTEST_SKIP() << "FAIRLEAD_TRACES names no folder with mooncake_conversation.jsonl";
  }
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  const Trace trace = mooncake(text.str());
  EXPECT_EQ(trace.size(), 12'031U);
  EXPECT_EQ(trace.back().at, 3'536'999ms);
  const uint64_t tokens =
      std::accumulate(trace.begin(), trace.end(), uint64_t{0},
                      [](uint64_t sum, const auto& s) { return sum + s.turns[0].prompt_tokens; });
  EXPECT_EQ(tokens / trace.size(), 12'035U);
}

}  // namespace
}  // namespace fairlead::workload
