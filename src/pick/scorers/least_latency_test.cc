#include "pick/scorers/least_latency.h"

#include <gtest/gtest.h>

#include <limits>

#include "pick/testing.h"

namespace fairlead::pick {
namespace {

using std::chrono::milliseconds;

Scores latency_scored(testing::World& world, double ttft_share = 0.5) {
  Scores scores(world.columns.slots());
  LeastLatencyScorer({.ttft_share = ttft_share})
      .score(world.context(), world.scratch.candidates, scores);
  return scores;
}

void measure(testing::World& world, Slot slot, milliseconds ttft, milliseconds tpot) {
  world.columns.set_scraped(slot, {.latency = {.ttft = ttft, .tpot = tpot}}, 0);
}

TEST(LeastLatencyScorer, PlacesEachBetweenTheFastestAndTheSlowest) {
  testing::World world(3);
  measure(world, 0, milliseconds(100), milliseconds(30));
  measure(world, 1, milliseconds(300), milliseconds(10));
  measure(world, 2, milliseconds(200), milliseconds(25));
  EXPECT_EQ(latency_scored(world), (Scores{50, 50, 37}));  // 0.5 * 50 + 0.5 * 25 = 37.5
  EXPECT_EQ(latency_scored(world, 1), (Scores{100, 0, 50}));
  EXPECT_EQ(latency_scored(world, 0), (Scores{0, 100, 25}));
}

TEST(LeastLatencyScorer, EqualsScoreFull) {
  testing::World world(2);
  measure(world, 0, milliseconds(100), milliseconds(10));
  measure(world, 1, milliseconds(100), milliseconds(10));
  EXPECT_EQ(latency_scored(world), (Scores{100, 100}));
}

TEST(LeastLatencyScorer, AReplicaThatHasMeasuredNothingIsInTheMiddle) {
  testing::World world(4);
  measure(world, 0, milliseconds(100), milliseconds(10));
  measure(world, 1, milliseconds(900), milliseconds(90));
  measure(world, 2, milliseconds(100), milliseconds(0));
  EXPECT_EQ(latency_scored(world), (Scores{100, 0, 50, 50}));
}

// The sanitizer fails it should the range of nothing be computed with.
TEST(LeastLatencyScorer, WhereNothingIsMeasuredAllAreInTheMiddle) {
  testing::World world(2);
  EXPECT_EQ(latency_scored(world), (Scores{50, 50}));
}

TEST(LeastLatencyScorer, AStaleMeasurementIsNone) {
  testing::World world(2);
  measure(world, 0, milliseconds(100), milliseconds(10));
  measure(world, 1, milliseconds(900), milliseconds(90));
  world.columns.set_stale(1);
  EXPECT_EQ(latency_scored(world), (Scores{100, 50}));
}

TEST(LeastLatencyScorer, TheShareIsBounded) {
  EXPECT_TRUE(LeastLatencyOptions{.ttft_share = 0}.validate());
  EXPECT_TRUE(LeastLatencyOptions{.ttft_share = 1}.validate());
  EXPECT_FALSE(LeastLatencyOptions{.ttft_share = -0.01}.validate());
  EXPECT_FALSE(LeastLatencyOptions{.ttft_share = 1.01}.validate());
  EXPECT_FALSE(
      LeastLatencyOptions{.ttft_share = std::numeric_limits<double>::quiet_NaN()}.validate());
}

}  // namespace
}  // namespace fairlead::pick
