#include "laptop/instance_lock.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <utility>

namespace fairlead::laptop {
namespace {

using testing::HasSubstr;

// Ports no `fairlead up` of this machine uses, different in each test process.
uint16_t some_port() { return static_cast<uint16_t>(1 + getpid() % 1000); }

TEST(InstanceLockTest, SecondHolderIsToldWhoTheFirstIs) {
  const auto first = InstanceLock::take(some_port());
  ASSERT_TRUE(first.ok());
  const auto second = InstanceLock::take(some_port());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), base::ErrorCode::kConflict);
  EXPECT_THAT(second.error().message(), HasSubstr(fmt::format("process {}", getpid())));
}

TEST(InstanceLockTest, IsFreeAgainWhenItsHolderGoes) {
  {
    auto first = InstanceLock::take(some_port());
    ASSERT_TRUE(first.ok());
    const InstanceLock moved = std::move(*first);
  }
  EXPECT_TRUE(InstanceLock::take(some_port()).ok());
}

TEST(InstanceLockTest, PortsAreIndependent) {
  const auto one = InstanceLock::take(some_port());
  const auto other = InstanceLock::take(static_cast<uint16_t>(some_port() + 1000));
  EXPECT_TRUE(one.ok() && other.ok());
}

}  // namespace
}  // namespace fairlead::laptop
