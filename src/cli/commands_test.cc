#include "cli/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> seen;

constexpr std::array kTwo = {
    Command{"first", "alpha", "does one thing", [] { return std::string("help of alpha\n"); },
            [](std::span<const std::string> args) {
              seen.assign(args.begin(), args.end());
              return 7;
            }},
    Command{"second", "beta", "does another", [] { return std::string("help of beta\n"); },
            [](std::span<const std::string>) { return 0; }},
};

struct Outcome {
  int status = 0;
  std::string out;
  std::string error;
};

Outcome run(std::span<const Command> commands, std::vector<std::string> args) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.status = run_commands(commands, args);
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.error = testing::internal::GetCapturedStderr();
  return outcome;
}

TEST(RunCommands, GivesACommandTheWordsAfterIt) {
  EXPECT_EQ(run(kTwo, {"alpha", "--x", "1"}).status, 7);
  EXPECT_THAT(seen, ElementsAre("--x", "1"));
}

TEST(RunCommands, SuggestsTheCommandThatWasMeant) {
  const Outcome outcome = run(kTwo, {"alhpa"});
  EXPECT_EQ(outcome.status, kUsageError);
  EXPECT_THAT(outcome.error, HasSubstr("did you mean 'fairlead alpha'?"));
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(run(kTwo, {"something-else"}).error, HasSubstr("--help lists them"));
}

TEST(RunCommands, ShowsHelpInEveryForm) {
  for (const std::vector<std::string>& args : {std::vector<std::string>{"alpha", "--help"},
                                               {"alpha", "-h"},
                                               {"alpha", "--x", "--help"},
                                               {"help", "alpha"},
                                               {"--help", "alpha"}}) {
    const Outcome outcome = run(kTwo, args);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.out, "help of alpha\n");
  }
  for (const char* word : {"help", "--help", "-h"}) {
    EXPECT_THAT(run(kTwo, {word}).out, HasSubstr("usage: fairlead COMMAND")) << word;
  }
}

TEST(RunCommands, WithoutACommandIsWrongUsageAndShowsThem) {
  const Outcome outcome = run(kTwo, {});
  EXPECT_EQ(outcome.status, kUsageError);
  EXPECT_THAT(outcome.error, HasSubstr("alpha"));
}

TEST(Overview, GroupsTheCommands) {
  EXPECT_THAT(overview(kTwo), HasSubstr("\nfirst\n  alpha      does one thing\n"
                                        "\nsecond\n  beta       does another\n"));
}

TEST(AllCommands, EachTeachesWithUsageFlagsAndExamples) {
  for (const Command& command : all_commands()) {
    if (command.name == "version") continue;
    const std::string help = run(all_commands(), {std::string(command.name), "--help"}).out;
    EXPECT_THAT(help, HasSubstr("usage: fairlead " + std::string(command.name))) << command.name;
    EXPECT_THAT(help, HasSubstr("(default: ")) << command.name;
    EXPECT_THAT(help, HasSubstr("\nexamples")) << command.name;
  }
}

TEST(AllCommands, WrongFlagIsWrongUsageAndSuggestsTheRightOne) {
  for (const auto& [args, right] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"up", "--enginse", "3"}, "--engines"},
           {{"router", "--polcy", "random"}, "--policy"},
           {{"engine", "--max-num-seq", "3"}, "max-num-seqs"},
           {{"bench", "--concurency", "3"}, "--concurrency"}}) {
    const Outcome outcome = run(all_commands(), args);
    EXPECT_EQ(outcome.status, kUsageError) << args[0];
    EXPECT_THAT(outcome.error, HasSubstr(right)) << args[0];
  }
}

TEST(AllCommands, VersionIsOneLine) {
  EXPECT_THAT(run(all_commands(), {"version"}).out, testing::MatchesRegex("fairlead [0-9.]+\n"));
  EXPECT_EQ(run(all_commands(), {"--version"}).out, run(all_commands(), {"version"}).out);
}

}  // namespace
}  // namespace fairlead::cli
