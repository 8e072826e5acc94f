#include "bench/answer.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlead::bench {
namespace {

using base::Nanos;
using workload::Histogram;
using workload::Outcome;
using namespace std::chrono_literals;

// As vLLM sends it: a role event without text, three tokens, the usage, the end.
const std::string kRole =
    R"(data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"prompt_token_ids":null})"
    "\n\n";
const std::string kToken =
    R"(data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"struc"},"logprobs":null,"finish_reason":null,"token_ids":null}]})"
    "\n\n";
const std::string kUsage =
    R"(data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":267,"total_tokens":270,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":256}}})"
    "\n\n";
const std::string kDone = "data: [DONE]\n\n";

TEST(AnswerReader, TimesTokensNotTheRoleEvent) {
  Histogram gaps;
  AnswerReader answer;
  answer.begin(Streaming::kYes, 200, gaps);
  EXPECT_TRUE(answer.feed(kRole, 10ms));
  EXPECT_TRUE(answer.feed(kToken, 15ms));
  EXPECT_TRUE(answer.feed(kToken, 20ms));
  EXPECT_TRUE(answer.feed(kToken, 28ms));
  EXPECT_EQ(answer.outcome(), Outcome::kProtocol) << "no end yet";
  EXPECT_EQ(answer.output_tokens(), 3U);
  EXPECT_TRUE(answer.feed(kUsage + kDone, 30ms));
  answer.end();
  EXPECT_EQ(answer.outcome(), Outcome::kOk);
  EXPECT_EQ(answer.first_token(), 15ms);
  EXPECT_EQ(answer.last_token(), 28ms);
  EXPECT_EQ(answer.pause_max(), 8ms);
  EXPECT_EQ(gaps.count(), 2U);
  EXPECT_EQ(gaps.max(), 8ms);
  EXPECT_EQ(answer.usage()->prompt_tokens, 267U);
  EXPECT_EQ(answer.usage()->cached_tokens, 256U);
}

TEST(AnswerReader, ReadsTheSameWhereverTheStreamIsSplit) {
  const std::string stream = kRole + kToken + kToken + kToken + kUsage + kDone;
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    Histogram gaps;
    AnswerReader answer;
    answer.begin(Streaming::kYes, 200, gaps);
    answer.feed(std::string_view(stream).substr(0, cut), 1ms);
    answer.feed(std::string_view(stream).substr(cut), 2ms);
    answer.end();
    ASSERT_EQ(answer.outcome(), Outcome::kOk) << cut;
    ASSERT_EQ(gaps.count(), 2U) << cut;
    ASSERT_EQ(answer.usage()->completion_tokens, 3U) << cut;
  }
}

TEST(AnswerReader, StartsAfreshForTheNextAnswer) {
  Histogram gaps;
  AnswerReader answer;
  answer.begin(Streaming::kYes, 200, gaps);
  answer.feed(kToken + kToken + "data: {\"unfinished", 5ms);
  answer.begin(Streaming::kYes, 200, gaps);
  EXPECT_EQ(answer.first_token(), Nanos(0));
  EXPECT_EQ(answer.output_tokens(), 0U);
  answer.feed(kToken + kDone, 1s);
  EXPECT_EQ(answer.outcome(), Outcome::kOk);
  EXPECT_EQ(answer.first_token(), 1s);
  EXPECT_EQ(gaps.count(), 1U) << "no gap across answers";
}

Outcome outcome_of(const std::string& body, Streaming streaming, int status = 200) {
  Histogram gaps;
  AnswerReader answer;
  answer.begin(streaming, status, gaps);
  answer.feed(body, 1ms);
  answer.end();
  return answer.outcome();
}

TEST(AnswerReader, TellsHowAnAnswerEnded) {
  EXPECT_EQ(outcome_of(kToken + kDone, Streaming::kYes), Outcome::kOk);
  EXPECT_EQ(outcome_of(kToken, Streaming::kYes), Outcome::kProtocol);
  EXPECT_EQ(outcome_of("", Streaming::kYes), Outcome::kProtocol);
  EXPECT_EQ(outcome_of("{\"error\":{}}", Streaming::kYes, 503), Outcome::kHttpStatus);
  EXPECT_EQ(outcome_of(kToken + R"(data: {"error":{"message":"died","code":500}})" + "\n\n" + kDone,
                       Streaming::kYes),
            Outcome::kStreamError);
  EXPECT_EQ(outcome_of(R"({"choices":[{"index":0}],"usage":{"prompt_tokens":1}})", Streaming::kNo),
            Outcome::kOk);
  EXPECT_EQ(outcome_of(R"({"choices":[]})", Streaming::kNo), Outcome::kOk);
  EXPECT_EQ(outcome_of("<html>hello</html>", Streaming::kNo), Outcome::kProtocol);
  EXPECT_EQ(outcome_of("", Streaming::kNo), Outcome::kProtocol);
}

TEST(AnswerReader, GivesUpOnAnEventWithoutEnd) {
  Histogram gaps;
  AnswerReader answer;
  answer.begin(Streaming::kYes, 200, gaps);
  const std::string piece(1U << 20, 'x');
  bool more = true;
  for (int i = 0; i <= 16 && more; ++i) more = answer.feed(piece, 1ms);
  EXPECT_FALSE(more);
  EXPECT_FALSE(answer.feed(kDone, 2ms));
  EXPECT_EQ(answer.outcome(), Outcome::kProtocol);
}

TEST(AnswerReader, HoldsAWholeAnswerUpToItsBound) {
  Histogram gaps;
  AnswerReader answer;
  answer.begin(Streaming::kNo, 200, gaps);
  const std::string piece(1U << 20, ' ');
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(answer.feed(piece, 1ms));
  EXPECT_FALSE(answer.feed(" ", 1ms));
}

TEST(AnswerReader, KeepsWhatAnAnswerSaysWhereItIsAskedTo) {
  Histogram gaps;
  AnswerReader answer;
  std::string text;
  answer.begin(Streaming::kYes, 200, gaps, &text);
  answer.feed(
      kRole + kToken + R"(data: {"choices":[{"delta":{"content":"ture \"x\\"}}]})" + "\n\n" + kDone,
      1ms);
  EXPECT_EQ(text, R"(structure \"x\\)");
  text.clear();
  answer.begin(Streaming::kNo, 200, gaps, &text);
  answer.feed(R"({"choices":[{"message":{"role":"assistant","content": "a\nb"}}],"usage":{}})",
              1ms);
  answer.end();
  EXPECT_EQ(text, R"(a\nb)");
}

TEST(AppendContent, TakesOnlyAStringThatJsonAllows) {
  const auto content = [](std::string_view json) {
    std::string out;
    append_content(json, out);
    return out;
  };
  EXPECT_EQ(content(R"({"content":null,"logprobs":{"content":[]}})"), "");
  EXPECT_EQ(content(R"({"logprobs":{"content":[]},"delta":{"content":"a"}})"), "a");
  EXPECT_EQ(content(R"({"reasoning_content":"hm"})"), "");
  EXPECT_EQ(content(R"({"content":"cut)"), "");
  EXPECT_EQ(content(R"({"content":"cut\)"), "");
  EXPECT_EQ(content("{\"content\":\"a\tb\"}"), "");
  EXPECT_EQ(content(R"({"content":)"), "");
}

TEST(CarriesToken, KnowsTextReasoningAndToolCalls) {
  EXPECT_TRUE(carries_token(R"({"delta":{"content":"a"}})"));
  EXPECT_TRUE(carries_token(R"({"delta": {"content": " a"}})"));
  EXPECT_TRUE(carries_token(R"({"choices":[{"index":0,"text":"a"}]})"));
  EXPECT_TRUE(carries_token(R"({"delta":{"reasoning_content":"hm","content":""}})"));
  EXPECT_TRUE(carries_token(R"({"delta":{"reasoning":"hm"}})"));
  EXPECT_TRUE(carries_token(R"({"delta":{"tool_calls":[{"index":0}]}})"));
  EXPECT_FALSE(carries_token(R"({"delta":{"content":""}})"));
  EXPECT_FALSE(carries_token(R"({"delta":{"content":null,"tool_calls":[]}})"));
  EXPECT_FALSE(carries_token(R"({"delta":{"content": )"));
  EXPECT_FALSE(carries_token(R"({"choices":[],"usage":{}})"));
  EXPECT_FALSE(carries_token("data: [DONE]"));
}

}  // namespace
}  // namespace fairlead::bench
