#include "router/slow_start.h"

#include <gtest/gtest.h>

namespace fairlead::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr base::TimePoint kBack{seconds(100)};

TEST(SlowStart, TheShareOfAReturningReplicaRampsOverTheWindow) {
  SlowStart start(seconds(10));
  EXPECT_EQ(start.share(kBack), 1) << "what never was away is no returning replica";
  start.begin(kBack);
  EXPECT_EQ(start.share(kBack), SlowStart::kShareMin);
  EXPECT_EQ(start.share(kBack + seconds(1)), SlowStart::kShareMin);
  EXPECT_NEAR(start.share(kBack + seconds(5)), 0.5, 1e-9);
  EXPECT_LT(start.share(kBack + milliseconds(9'999)), 1);
  EXPECT_EQ(start.share(kBack + seconds(10)), 1);
}

TEST(SlowStart, GoingAwayAgainBeginsItAnew) {
  SlowStart start(seconds(10));
  start.begin(kBack);
  start.begin(kBack + seconds(9));
  EXPECT_EQ(start.share(kBack + seconds(10)), SlowStart::kShareMin);
  EXPECT_EQ(start.share(kBack + seconds(19)), 1);
}

TEST(SlowStart, AWindowOfNothingIsNoSlowStart) {
  SlowStart start(seconds(0));
  start.begin(kBack);
  EXPECT_EQ(start.share(kBack), 1);
}

}  // namespace
}  // namespace fairlead::router
