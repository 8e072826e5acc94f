#include "router/interval_mean.h"

#include <gtest/gtest.h>

#include <limits>

namespace fairlead::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

base::TimePoint at_second(int second) { return base::TimePoint(seconds(second)); }

TEST(IntervalMean, IsOfWhatWasObservedSinceTheLastScrape) {
  IntervalMean mean{seconds(10)};
  EXPECT_EQ(mean.update(100, 10, at_second(100)), base::Nanos(0)) << "that may have been last week";
  EXPECT_EQ(mean.update(101, 12, at_second(101)), milliseconds(500));
  EXPECT_EQ(mean.update(101.5, 17, at_second(102)), milliseconds(100));
}

// W25 of the peer: an idle pod kept its old latency for ever and was never asked again.
TEST(IntervalMean, AnIdleReplicaDoesNotStaySlowForEver) {
  IntervalMean mean{seconds(10)};
  mean.update(0, 0, at_second(100));
  EXPECT_EQ(mean.update(9, 1, at_second(101)), seconds(9));
  EXPECT_EQ(mean.update(9, 1, at_second(110)), seconds(9));
  EXPECT_EQ(mean.update(9, 1, at_second(111)), base::Nanos(0));
  EXPECT_EQ(mean.update(9.5, 2, at_second(112)), milliseconds(500));
}

TEST(IntervalMean, AfterARestartTheNewProcessCounts) {
  IntervalMean mean{seconds(10)};
  mean.update(100, 50, at_second(100));
  mean.update(150, 100, at_second(101));
  EXPECT_EQ(mean.update(1, 4, at_second(102)), milliseconds(250));
  EXPECT_EQ(mean.update(0, 0, at_second(103)), base::Nanos(0));
}

TEST(IntervalMean, WhatMakesNoSenseMeasuresNothing) {
  IntervalMean mean{seconds(10)};
  mean.update(1, 1, at_second(100));
  mean.update(2, 2, at_second(101));
  EXPECT_EQ(mean.update(std::nullopt, 3, at_second(102)), base::Nanos(0));
  EXPECT_EQ(mean.update(4, 4, at_second(103)), base::Nanos(0)) << "as if it were the first";
  EXPECT_EQ(mean.update(5, std::numeric_limits<double>::infinity(), at_second(104)),
            base::Nanos(0));
  EXPECT_EQ(mean.update(-1, 5, at_second(105)), base::Nanos(0));
  mean.update(0, 0, at_second(106));
  EXPECT_EQ(mean.update(1e300, 1, at_second(107)), seconds(86'400));
}

}  // namespace
}  // namespace fairlead::router
