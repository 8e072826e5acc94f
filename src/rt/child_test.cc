#include "rt/child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <utility>

namespace fairlead::rt {
namespace {

using testing::HasSubstr;

// Blocks until the child has ended, and leaves the reaping to running().
void await_end(Child& child) {
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(child.running());
}

Child shell(const std::string& script) {
  auto child = Child::start({.name = "shell", .command = {"/bin/sh", "-c", script}, .log = ""});
  CHECK(child.ok(), "a shell starts");
  return std::move(child).value();
}

TEST(ChildTest, TellsItsExitCodeAndWhatItWrote) {
  Child child = shell("echo out; echo err >&2; exit 3");
  await_end(child);
  EXPECT_EQ(child.how_ended(), "exit code 3");
  EXPECT_EQ(child.output(), "out\nerr\n");
}

TEST(ChildTest, TellsTheSignalThatEndedIt) {
  Child child = shell("exec sleep 1000");
  EXPECT_TRUE(child.running());
  child.signal(SIGKILL);
  await_end(child);
  EXPECT_THAT(child.how_ended(), HasSubstr("signal 9"));
}

TEST(ChildTest, HasNoInputAndNoBlockedSignals) {
  sigset_t set;
  sigset_t before;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  Child child = shell("cat; grep SigBlk /proc/self/status");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  await_end(child);
  EXPECT_THAT(child.output(), HasSubstr("0000000000000000"));
}

TEST(ChildTest, HasAProcessGroupOfItsOwn) {
  Child child = shell("cut -d' ' -f5 /proc/$$/stat; echo $$");
  await_end(child);
  const std::string text = child.output();
  const size_t line = text.find('\n');
  EXPECT_EQ(text.substr(line + 1), text.substr(0, line + 1));
}

TEST(ChildTest, EndsWithItsObject) {
  pid_t pid = 0;
  {
    Child child = shell("exec sleep 1000");
    pid = child.pid();
    Child moved = std::move(child);
    EXPECT_TRUE(moved.running());
  }
  EXPECT_EQ(kill(pid, 0), -1);
}

TEST(ChildTest, ProgramThatDoesNotExistEndsWith127) {
  auto child = Child::start({.name = "none", .command = {"/no/such/program"}, .log = ""});
  ASSERT_TRUE(child.ok());
  await_end(*child);
  EXPECT_EQ(child->how_ended(), "exit code 127");
}

TEST(ChildTest, LogThatCannotBeWrittenIsNamed) {
  auto child = Child::start({.name = "engine-1", .command = {"/bin/true"}, .log = "/no/such/log"});
  ASSERT_FALSE(child.ok());
  EXPECT_THAT(child.error().message(), HasSubstr("engine-1"));
}

}  // namespace
}  // namespace fairlead::rt
