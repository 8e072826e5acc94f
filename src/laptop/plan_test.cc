#include "laptop/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "codec/json.h"

namespace fairlead::laptop {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(PlanTest, EnginesListenOnLoopbackUnderTheirOwnNames) {
  const auto child = engine_child(LaptopConfig{}, 1, 9001, "/logs");
  EXPECT_EQ(child.name, "engine-2");
  EXPECT_EQ(child.log, "/logs/engine-2.log");
  EXPECT_THAT(child.command, Contains("127.0.0.1"));
  EXPECT_THAT(child.command, Contains("9001"));
}

TEST(PlanTest, RouterHasEveryEngineAsABackEnd) {
  const std::array<uint16_t, 3> ports = {9001, 9002, 9003};
  const auto child = router_child(LaptopConfig{.port = 18080}, ports, "/logs");
  EXPECT_THAT(child.command, Contains("18080"));
  for (const char* url :
       {"http://127.0.0.1:9001", "http://127.0.0.1:9002", "http://127.0.0.1:9003"}) {
    EXPECT_THAT(child.command, Contains(url));
  }
}

TEST(PlanTest, QuestionIsAStreamedChatRequest) {
  const auto json = codec::parse_json(question(LaptopConfig{.model = "m"}, "Why \"so\"?"));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->find("model")->as_string(), "m");
  EXPECT_TRUE(json->find("stream")->as_bool());
  const auto& messages = json->find("messages")->items();
  ASSERT_EQ(messages.size(), 2);
  EXPECT_EQ(messages[1].find("content")->as_string(), "Why \"so\"?");
}

TEST(PlanTest, NextStepsCanBePastedIntoAShell) {
  const LaptopConfig config{.port = 18099};
  const std::string steps = next_steps(config, "build/fairlead");
  EXPECT_THAT(steps, HasSubstr("http://127.0.0.1:18099/v1/chat/completions"));
  EXPECT_THAT(steps, HasSubstr("\n  build/fairlead bench --compare round-robin,prefix-cache"));
  // The body stands in single quotes.
  EXPECT_THAT(question(config, "What hangs in the stairwell?"), Not(HasSubstr("'")));
}

TEST(PlanTest, ShowsWhichReplicaWasPickedAndWhy) {
  EXPECT_EQ(picked(R"({"replica":"127.0.0.1:9001","load":0.5,"reason":"prefix-held"})"),
            "127.0.0.1:9001 (prefix-held)");
  EXPECT_EQ(picked(R"({"replica":"a"})"), "a");
  for (const char* other : {"", "{}", "[]", "not json", R"({"replica":1})"}) {
    EXPECT_EQ(picked(other), "") << other;
  }
}

}  // namespace
}  // namespace fairlead::laptop
