#include "pick/scorers/least_request.h"

#include <gtest/gtest.h>

#include "pick/testing.h"

namespace fairlead::pick {
namespace {

Scores request_scored(testing::World& world) {
  Scores scores(world.columns.slots());
  LeastRequestScorer().score(world.context(), world.scratch.candidates, scores);
  return scores;
}

TEST(LeastRequestScorer, IdleReplicasScoreFull) {
  testing::World world(3);
  EXPECT_EQ(request_scored(world), (Scores{100, 100, 100}));
}

TEST(LeastRequestScorer, EveryLoadScoresTheFloorOfTheFormula) {
  for (const uint32_t most : {1U, 3U, 7U, 49U, 100U, 193U}) {
    testing::World world(most + 1);
    Scores expected;
    for (uint32_t load = 0; load <= most; ++load) {
      world.load(static_cast<Slot>(load), load);
      expected.push_back(static_cast<float>(100 * (most - load) / most));
    }
    EXPECT_EQ(request_scored(world), expected) << most;
  }
}

TEST(LeastRequestScorer, OneThatWaitsCountsAsAHundredThatRun) {
  testing::World world(3);
  world.load(0, 4);
  world.columns.set_scraped(0, {.running = 4}, 4);  // base 4
  world.load(1, 4);
  world.columns.set_scraped(1, {.running = 3, .waiting = 1}, 4);  // base 4 + 100
  EXPECT_EQ(request_scored(world), (Scores{96, 0, 100}));         // 100 * (104 - 4) / 104 = 96.15
}

TEST(LeastRequestScorer, WhatOthersSentCounts) {
  testing::World world(2);
  world.columns.set_scraped(0, {.running = 2, .waiting = 1}, 0);  // base 3 + 100
  world.load(1, 1);
  world.columns.set_scraped(1, {.running = 1}, 1);  // base 1
  EXPECT_EQ(request_scored(world), (Scores{0, 99}));
}

// A replica without metrics would otherwise look as if all its requests waited.
TEST(LeastRequestScorer, WithoutAFreshSampleNothingIsKnownToWait) {
  testing::World world(2);
  world.load(0, 2);
  world.load(1, 2);
  world.columns.set_scraped(1, {.running = 1}, 2);
  EXPECT_EQ(request_scored(world), (Scores{98, 0}));  // bases 2 and 102
  world.columns.set_stale(1);
  EXPECT_EQ(request_scored(world), (Scores{0, 0}));
}

}  // namespace
}  // namespace fairlead::pick
