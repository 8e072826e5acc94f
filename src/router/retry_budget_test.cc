#include "router/retry_budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace fairlead::router {
namespace {

using std::chrono::seconds;

int take_all(RetryBudget& budget, base::TimePoint now, size_t shard = 0) {
  int taken = 0;
  while (budget.take_retry(shard, now)) ++taken;
  return taken;
}

TEST(RetryBudget, AQuietRouterMayRetryTenASecond) {
  RetryBudget budget({}, 1);
  EXPECT_EQ(take_all(budget, base::TimePoint{}), 100);
  EXPECT_FALSE(budget.take_retry(0, base::TimePoint(seconds(9))));
  EXPECT_EQ(take_all(budget, base::TimePoint(seconds(10))), 100);
}

TEST(RetryBudget, ABusyRouterMayRetryAFifth) {
  RetryBudget budget({}, 1);
  for (int second = 0; second < 10; ++second) {
    for (int i = 0; i < 100; ++i) budget.note_request(0, base::TimePoint(seconds(second)));
  }
  EXPECT_EQ(take_all(budget, base::TimePoint(seconds(9))), 200);
  // One second of requests has left the window, and no retry.
  EXPECT_EQ(budget.left(base::TimePoint(seconds(10))), -20);
  EXPECT_FALSE(budget.take_retry(0, base::TimePoint(seconds(10))));
  EXPECT_EQ(budget.left(base::TimePoint(seconds(19))), 100);
}

TEST(RetryBudget, AShardMayRetryOnTheRequestsOfAll) {
  RetryBudget budget({}, 2);
  for (int i = 0; i < 1'000; ++i) budget.note_request(0, base::TimePoint(seconds(100)));
  EXPECT_EQ(take_all(budget, base::TimePoint(seconds(101)), 1), 200);
  EXPECT_EQ(take_all(budget, base::TimePoint(seconds(101)), 0), 0) << "it was the budget of both";
  EXPECT_EQ(take_all(budget, base::TimePoint(seconds(111)), 0), 100);
}

// Sums over counters that move must not tear; what they come to is approximate only while they do.
TEST(RetryBudget, IsSharedByThreads) {
  RetryBudget budget({.share = 0.5, .floor_per_second = 0}, 4);
  std::vector<std::thread> threads;
  std::atomic<int> taken{0};
  for (size_t shard = 0; shard < 4; ++shard) {
    threads.emplace_back([&, shard] {
      for (int i = 0; i < 10'000; ++i) {
        budget.note_request(shard, base::TimePoint(seconds(7)));
        if (budget.take_retry(shard, base::TimePoint(seconds(7)))) ++taken;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(budget.left(base::TimePoint(seconds(7))), 20'000 - taken.load());
  EXPECT_LE(taken.load(), 20'200);
}

TEST(RetryBudget, WithoutShareAndFloorThereIsNone) {
  RetryBudget budget({.share = 0, .floor_per_second = 0}, 1);
  budget.note_request(0, base::TimePoint{});
  EXPECT_FALSE(budget.take_retry(0, base::TimePoint{}));
}

}  // namespace
}  // namespace fairlead::router
