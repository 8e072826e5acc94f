#include "cli/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <initializer_list>
#include <string>
#include <vector>

#include "cli/testing.h"

namespace fairlead::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

base::Result<> parse(TestConfig& config, std::vector<std::string> args) {
  return parse_flags(codec::info_for<TestConfig>(), &config, args);
}

std::string error_of(std::vector<std::string> args) {
  TestConfig config;
  const auto parsed = parse(config, std::move(args));
  return parsed ? "" : parsed.error().message();
}

TEST(ParseFlags, TakesValuesInBothForms) {
  TestConfig config;
  ASSERT_TRUE(parse(config, {"--port=81", "--wait-max", "250ms", "--name", "x"}).ok());
  EXPECT_EQ(config.port, 81);
  EXPECT_EQ(config.wait_max, std::chrono::milliseconds(250));
  EXPECT_EQ(config.name, "x");
}

TEST(ParseFlags, TakesDashesAndUnderscores) {
  TestConfig config;
  ASSERT_TRUE(parse(config, {"--wait_max=1s", "--name=a"}).ok());
  EXPECT_EQ(config.wait_max, std::chrono::seconds(1));
}

TEST(ParseFlags, TurnsSwitchesOnAndOff) {
  TestConfig config;
  ASSERT_TRUE(parse(config, {"--name=a", "--fast", "--no-log"}).ok());
  EXPECT_TRUE(config.fast);
  EXPECT_FALSE(config.log);
  ASSERT_TRUE(parse(config, {"--name=a", "--fast=false", "--log=true"}).ok());
  EXPECT_FALSE(config.fast);
  EXPECT_TRUE(config.log);
}

TEST(ParseFlags, CollectsRepeatedFlagsIntoAList) {
  TestConfig config;
  ASSERT_TRUE(parse(config, {"--name=a", "--backend", "one", "--backend=two"}).ok());
  EXPECT_THAT(config.backend, ElementsAre("one", "two"));
}

TEST(ParseFlags, TakesAValueThatLooksLikeAFlag) {
  TestConfig config;
  ASSERT_TRUE(parse(config, {"--name", "--odd"}).ok());
  EXPECT_EQ(config.name, "--odd");
  ASSERT_TRUE(parse(config, {"--name="}).ok());
  EXPECT_EQ(config.name, "");
}

TEST(ParseFlags, SuggestsTheFlagThatWasMeant) {
  EXPECT_THAT(error_of({"--prot", "80"}), HasSubstr("did you mean --port?"));
  EXPECT_THAT(error_of({"--wait-maxx=1s"}), HasSubstr("did you mean --wait-max?"));
  EXPECT_THAT(error_of({"--no-lgo"}), HasSubstr("unknown flag --no-lgo"));
  EXPECT_THAT(error_of({"--quite-another-thing"}), HasSubstr("--help lists them"));
}

TEST(ParseFlags, NamesFlagValueAndWhatIsAllowed) {
  EXPECT_EQ(error_of({"--port", "0"}), "--port is 0: must be an integer from 1 to 65535");
  EXPECT_EQ(error_of({"--port=65536"}), "--port is 65536: must be an integer from 1 to 65535");
  EXPECT_EQ(error_of({"--port=65535", "--name=a"}), "");
  EXPECT_THAT(error_of({"--port"}), HasSubstr("--port needs a value"));
  EXPECT_THAT(error_of({"--no-log=1"}), HasSubstr("takes no value"));
  EXPECT_THAT(error_of({"--no-port"}), HasSubstr("unknown flag --no-port"));
}

TEST(ParseFlags, RefusesWordsThatAreNoFlags) {
  for (const char* word : {"word", "-p", "--", "-", ""}) {
    EXPECT_THAT(error_of({word}), HasSubstr("not expected here")) << word;
  }
}

TEST(ParseFlags, SaysWhichRequiredFlagIsMissing) {
  EXPECT_THAT(error_of({"--port=1"}), HasSubstr("--name is needed: what it is called"));
}

TEST(FlagsHelp, ShowsEveryFlagWithTypeAndDefault) {
  EXPECT_EQ(
      flags_help(codec::info_for<TestConfig>()),
      "  --port N                  where to listen [integer from 1 to 65535] (default: 8080)\n"
      "  --wait-max TIME           longest wait [duration at least 1ms] (default: 1.5s)\n"
      "  --name TEXT               what it is called [string], needed\n"
      "  --fast                    hurry (default: off)\n"
      "  --no-log                  write a log (default: on)\n"
      "  --backend TEXT            where requests go [list of string], may be repeated (default: "
      "none)\n");
}

}  // namespace
}  // namespace fairlead::cli
