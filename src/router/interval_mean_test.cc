#include "router/interval_mean.h"

#include <gtest/gtest.h>

#include <limits>

namespace fairlead::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

base::TimePoint at(int second) { return base::TimePoint(seconds(second)); }

TEST(IntervalMean, IsOfWhatWasObservedSinceTheLastScrape) {
  IntervalMean mean{seconds(10)};
  EXPECT_EQ(mean.update(100, 10, at(100)), base::Nanos(0)) << "that may have been last week";
  EXPECT_EQ(mean.update(101, 12, at(101)), milliseconds(500));
  EXPECT_EQ(mean.update(101.5, 17, at(102)), milliseconds(100));
}

// W25 of the peer: an idle pod kept its old latency for ever and was never asked again.
TEST(IntervalMean, AnIdleReplicaDoesNotStaySlowForEver) {
  IntervalMean mean{seconds(10)};
  mean.update(0, 0, at(100));
  EXPECT_EQ(mean.update(9, 1, at(101)), seconds(9));
  EXPECT_EQ(mean.update(9, 1, at(110)), seconds(9));
  EXPECT_EQ(mean.update(9, 1, at(111)), base::Nanos(0));
  EXPECT_EQ(mean.update(9.5, 2, at(112)), milliseconds(500));
}

TEST(IntervalMean, AfterARestartTheNewProcessCounts) {
  IntervalMean mean{seconds(10)};
  mean.update(100, 50, at(100));
  mean.update(150, 100, at(101));
  EXPECT_EQ(mean.update(1, 4, at(102)), milliseconds(250));
  EXPECT_EQ(mean.update(0, 0, at(103)), base::Nanos(0));
}

TEST(IntervalMean, WhatMakesNoSenseMeasuresNothing) {
  IntervalMean mean{seconds(10)};
  mean.update(1, 1, at(100));
  mean.update(2, 2, at(101));
  EXPECT_EQ(mean.update(std::nullopt, 3, at(102)), base::Nanos(0));
  EXPECT_EQ(mean.update(4, 4, at(103)), base::Nanos(0)) << "as if it were the first";
  EXPECT_EQ(mean.update(5, std::numeric_limits<double>::infinity(), at(104)), base::Nanos(0));
  EXPECT_EQ(mean.update(-1, 5, at(105)), base::Nanos(0));
  mean.update(0, 0, at(106));
  EXPECT_EQ(mean.update(1e300, 1, at(107)), seconds(86'400));
}

}  // namespace
}  // namespace fairlead::router
