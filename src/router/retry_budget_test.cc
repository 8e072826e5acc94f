#include "router/retry_budget.h"

#include <gtest/gtest.h>

namespace fairlead::router {
namespace {

using std::chrono::seconds;

int take_all(RetryBudget& budget, base::TimePoint now) {
  int taken = 0;
  while (budget.take_retry(now)) ++taken;
  return taken;
}

TEST(RetryBudget, AQuietRouterMayRetryTenASecond) {
  RetryBudget budget({});
  EXPECT_EQ(take_all(budget, base::TimePoint{}), 100);
  EXPECT_FALSE(budget.take_retry(base::TimePoint(seconds(9))));
  EXPECT_EQ(take_all(budget, base::TimePoint(seconds(10))), 100);
}

TEST(RetryBudget, ABusyRouterMayRetryAFifth) {
  RetryBudget budget({});
  for (int second = 0; second < 10; ++second) {
    for (int i = 0; i < 100; ++i) budget.note_request(base::TimePoint(seconds(second)));
  }
  EXPECT_EQ(take_all(budget, base::TimePoint(seconds(9))), 200);
  // One second of requests has left the window, and no retry.
  EXPECT_EQ(budget.left(base::TimePoint(seconds(10))), -20);
  EXPECT_FALSE(budget.take_retry(base::TimePoint(seconds(10))));
  EXPECT_EQ(budget.left(base::TimePoint(seconds(19))), 100);
}

TEST(RetryBudget, AShardHasItsPartOfTheFloor) {
  RetryBudget budget({.floor_per_second = 2.5});
  EXPECT_EQ(take_all(budget, base::TimePoint(seconds(1'000))), 25);
}

TEST(RetryBudget, WithoutShareAndFloorThereIsNone) {
  RetryBudget budget({.share = 0, .floor_per_second = 0});
  budget.note_request(base::TimePoint{});
  EXPECT_FALSE(budget.take_retry(base::TimePoint{}));
}

}  // namespace
}  // namespace fairlead::router
