#include "bench/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/tcp.h"

namespace fairlead::bench {
namespace {

using testing::HasSubstr;

TEST(Fleet, SaysWhichProcessEndedAndWhatItWrote) {
  rt::Loop loop;
  net::TcpNetwork network(loop);
  // `ls engine serve ...` complains and ends.
  const auto fleet = loop.block_on(
      Fleet::start(network, {.policies = {"random"}, .engines = 1, .binary = "/bin/ls"}));
  ASSERT_FALSE(fleet.ok());
  EXPECT_THAT(fleet.error().message(), HasSubstr("engine 1 of random has ended (exit code"));
  EXPECT_THAT(fleet.error().message(), HasSubstr("--host"));
}

TEST(Fleet, SaysThatAProgramIsMissing) {
  rt::Loop loop;
  net::TcpNetwork network(loop);
  const auto fleet = loop.block_on(
      Fleet::start(network, {.policies = {"random"}, .binary = "/nonexistent/fairlead"}));
  EXPECT_FALSE(fleet.ok());
}

}  // namespace
}  // namespace fairlead::bench
