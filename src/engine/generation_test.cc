#include "engine/generation.h"

#include <gtest/gtest.h>

#include "engine/tools.h"

namespace fairlead::engine {
namespace {

using engine_model::Finish;

struct Result {
  std::string text;
  uint32_t tokens = 0;
  Finish finish = Finish::kNone;
};

Result run(Generation& g, uint32_t limit) {
  Result result;
  while (result.finish == Finish::kNone) {
    const auto next = g.next();
    if (next.stop) {
      result.finish = Finish::kStop;
    } else if (g.tokens() == limit) {
      result.finish = Finish::kLength;
    }
  }
  g.end(result.finish);
  result.text = g.text();
  result.tokens = g.tokens();
  return result;
}

class GenerationTest : public ::testing::Test {
 protected:
  Result generate(Plan plan) {
    Generation g(tokenizer_, std::move(plan));
    return run(g, 50);
  }
  protocol::BuiltinTokenizer tokenizer_;
};

TEST_F(GenerationTest, FollowsFromItsSeed) {
  EXPECT_EQ(generate({.seed = 1}).text, generate({.seed = 1}).text);
  EXPECT_NE(generate({.seed = 1}).text, generate({.seed = 2}).text);
  EXPECT_EQ(generate({.seed = 1}).finish, Finish::kLength);
}

TEST_F(GenerationTest, EndsWithTheEndOfTextWhichIsNoText) {
  const Result all = generate({.seed = 1});
  const Result cut = generate({.seed = 1, .stop_at = 10});
  EXPECT_EQ(cut.tokens, 10u);
  EXPECT_EQ(cut.finish, Finish::kStop);
  EXPECT_TRUE(all.text.starts_with(cut.text));
}

TEST_F(GenerationTest, ReadsItsScriptAndStops) {
  Plan plan{.seed = 1};
  tokenizer_.encode("<tool_call>\n{\"a\": 1}", plan.script);
  const Result result = generate(std::move(plan));
  EXPECT_EQ(result.text, "<tool_call>\n{\"a\": 1}");
  EXPECT_EQ(result.finish, Finish::kStop);
}

TEST_F(GenerationTest, GivesOutWhatItHeldBackWhenTheStopStringDoesNotCome) {
  const Result all = generate({.seed = 1});
  // The beginning of a stop string is the end of the text.
  const Result same =
      generate({.seed = 1, .stop_strings = {all.text.substr(all.text.size() - 3) + "#"}});
  EXPECT_EQ(same.text, all.text);
  EXPECT_EQ(same.finish, Finish::kLength);
}

TEST_F(GenerationTest, LooksForStopStringsOnlyAfterMinTokens) {
  const Result all = generate({.seed = 1});
  const std::string stop = all.text.substr(0, 4);
  EXPECT_EQ(generate({.seed = 1, .stop_strings = {stop}}).text, "");
  const Result late = generate({.seed = 1, .min_tokens = 5, .stop_strings = {stop}});
  EXPECT_GT(late.tokens, 5u);
}

TEST(NaturalLength, StaysWithinHalfOfItsMean) {
  uint64_t sum = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const uint32_t length = natural_length(seed, 128);
    EXPECT_GE(length, 64u);
    EXPECT_LE(length, 192u);
    sum += length;
  }
  EXPECT_NEAR(static_cast<double>(sum) / 1000, 128, 4);
  EXPECT_EQ(natural_length(5, 1), natural_length(5, 1));
  EXPECT_GE(natural_length(5, 1), 1u);
}

protocol::ChatRequest request_with(const std::string& parameters) {
  protocol::ChatRequest request;
  request.conversation.messages = {{.role = "user", .content = "go"}};
  request.conversation.tools = {
      {.name = "f",
       .json = R"({"type":"function","function":{"name":"f","parameters":)" + parameters + "}}"}};
  request.tool_choice = protocol::ToolChoice::kAuto;
  return request;
}

TEST(Tools, FillArgumentsBySchema) {
  const auto plan = plan_tool_call(request_with(
      R"({"type":"object","properties":{"s":{"type":"string"},"i":{"type":"integer","minimum":3},)"
      R"("b":{"type":["boolean","null"]},"l":{"type":"array","items":{"type":"number"}},)"
      R"("o":{"type":"object","properties":{"x":{"enum":["p","q"]}}},"skip":{"type":"string"}},)"
      R"("required":["s","i","b","l","o"]})"));
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->arguments, R"({"s":"text","i":3,"b":true,"l":[1],"o":{"x":"p"}})");
  EXPECT_EQ(plan->text.substr(plan->arguments_at, plan->arguments.size()), plan->arguments);
}

TEST(Tools, SurviveASchemaThatNestsWithoutEnd) {
  std::string schema = R"({"type":"string"})";
  for (int i = 0; i < 40; ++i) {
    schema = R"({"type":"object","properties":{"n":)" + schema + "}}";
  }
  const auto plan = plan_tool_call(request_with(schema));
  ASSERT_TRUE(plan.has_value());
  EXPECT_TRUE(codec::parse_json(plan->arguments).ok());
}

TEST(Tools, AreNotCalledWhenTheToolHasSpokenOrNobodyMay) {
  protocol::ChatRequest request = request_with("{}");
  EXPECT_TRUE(plan_tool_call(request).has_value());
  request.conversation.messages.push_back({.role = "tool", .content = "1"});
  EXPECT_FALSE(plan_tool_call(request).has_value());
  request.tool_choice = protocol::ToolChoice::kRequired;
  EXPECT_TRUE(plan_tool_call(request).has_value());
  request.tool_choice = protocol::ToolChoice::kNone;
  EXPECT_FALSE(plan_tool_call(request).has_value());
}

}  // namespace
}  // namespace fairlead::engine
