#include "workload/curves.h"

#include <gtest/gtest.h>

namespace fairlead::workload {
namespace {

using namespace std::chrono_literals;

RunLog run_of(int count) {
  RunLog log;
  for (int i = count; i > 0; --i) {
    log.samples.push_back({.started = i * 1s, .first_token = i * 1ms, .whole = i * 2ms});
    log.gaps.add(i * 1us);
  }
  return log;
}

TEST(Curves, AreEmptyWhereNothingWasAnswered) {
  RunLog log;
  log.samples.push_back({.outcome = Outcome::kReset, .first_token = 1ms, .whole = 1ms});
  const Curves curves = make_curves(log);
  EXPECT_TRUE(curves.ttft.empty());
  EXPECT_TRUE(curves.itl.empty());
  EXPECT_TRUE(curves.whole.empty());
  EXPECT_TRUE(curves.ttft_over_time.empty());
}

TEST(Curves, RiseFromTheSmallestToTheLargestValue) {
  const Curves curves = make_curves(run_of(1000));
  for (const auto* curve : {&curves.ttft, &curves.itl, &curves.whole}) {
    EXPECT_EQ(curve->front().y, 0);
    EXPECT_EQ(curve->back().y, 100);
    for (size_t i = 1; i < curve->size(); ++i) {
      EXPECT_GE((*curve)[i].x, (*curve)[i - 1].x);
      EXPECT_GT((*curve)[i].y, (*curve)[i - 1].y);
    }
  }
  EXPECT_DOUBLE_EQ(curves.ttft.front().x, 1);
  EXPECT_DOUBLE_EQ(curves.ttft[50].x, 500);
  EXPECT_DOUBLE_EQ(curves.ttft.back().x, 1000);
  EXPECT_DOUBLE_EQ(curves.whole.back().x, 2000);
}

TEST(Curves, ThinTheDotsEvenly) {
  EXPECT_EQ(make_curves(run_of(1000)).ttft_over_time.size(), 1000U);
  const auto dots = make_curves(run_of(1001)).ttft_over_time;
  EXPECT_EQ(dots.size(), 501U);
  EXPECT_DOUBLE_EQ(dots.back().x, 1);
}

}  // namespace
}  // namespace fairlead::workload
