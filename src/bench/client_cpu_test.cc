#include "bench/client_cpu.h"

#include <gtest/gtest.h>

#include <tuple>

#include "rt/loop.h"
#include "rt/task_group.h"

namespace fairlead::bench {
namespace {

using namespace std::chrono_literals;
using base::Nanos;

// Watches for `length` a client whose clock is `cpu`.
workload::ClientUse watched(Nanos length, const std::function<CpuTimes(Nanos)>& cpu) {
  base::ManualClock clock;
  rt::Loop loop(clock);
  workload::ClientUse use;
  rt::TaskGroup group(loop);
  group.spawn(watch_client([&] { return cpu(clock.now().time_since_epoch()); }, use));
  loop.run_until_idle(loop.now() + length);
  group.cancel(rt::CancelReason::kShutdown);
  EXPECT_TRUE(loop.block_on(group.join()).ok());
  return use;
}

TEST(WatchClient, CountsUseAndWaitingUpToItsEnd) {
  const auto use =
      watched(1100ms, [](Nanos at) { return CpuTimes{.used = at / 10, .waited = at / 100}; });
  EXPECT_EQ(use.cpu, 110ms);
  EXPECT_EQ(use.waiting, 11ms);
  EXPECT_EQ(use.saturated, 0ms);
}

TEST(WatchClient, CallsAClientSaturatedThatUsesOrWaitsNineTenths) {
  const auto below = [](Nanos at) { return CpuTimes{.used = at / 2, .waited = at * 39 / 100}; };
  const auto at_bound = [](Nanos at) { return CpuTimes{.used = at / 2, .waited = at * 40 / 100}; };
  EXPECT_EQ(watched(2s, below).saturated, 0ms);
  EXPECT_EQ(watched(2s, at_bound).saturated, 2s);
}

TEST(WatchClient, CountsOnlyTheWindowsWithoutTimeToSpare) {
  const auto use = watched(2s, [](Nanos at) { return CpuTimes{.used = std::min(at, Nanos(1s))}; });
  EXPECT_EQ(use.cpu, 1s);
  EXPECT_EQ(use.saturated, 1s);
}

TEST(ThreadCpuTimes, NeverGoBack) {
  const CpuTimes before = thread_cpu_times();
  EXPECT_GT(before.used, 0ns);
  const CpuTimes after = thread_cpu_times();
  EXPECT_GE(after.used, before.used);
  EXPECT_GE(after.waited, before.waited);
}

}  // namespace
}  // namespace fairlead::bench
