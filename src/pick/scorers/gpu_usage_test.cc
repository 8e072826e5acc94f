#include "pick/scorers/gpu_usage.h"

#include <gtest/gtest.h>

#include "pick/testing.h"

namespace fairlead::pick {
namespace {

Scores gpu_scored(testing::World& world) {
  Scores scores(world.columns.slots());
  GpuUsageScorer().score(world.context(), world.scratch.candidates, scores);
  return scores;
}

TEST(GpuUsageScorer, GivesTheFreeShareInWholePercent) {
  testing::World world(4);
  world.columns.set_scraped(1, {.kv_usage = 1}, 0);
  world.columns.set_scraped(2, {.kv_usage = 0.25F}, 0);
  world.columns.set_scraped(3, {.kv_usage = 0.996F}, 0);
  EXPECT_EQ(gpu_scored(world), (Scores{100, 0, 75, 0}));
}

TEST(GpuUsageScorer, AStaleSampleSaysNothingWhileRequestsAreThere) {
  testing::World world(2);
  for (Slot slot = 0; slot < 2; ++slot) {
    world.columns.set_scraped(slot, {.kv_usage = 0.1F}, 0);
    world.columns.set_stale(slot);
  }
  world.load(1, 1);
  EXPECT_EQ(gpu_scored(world), (Scores{90, 50}));
}

}  // namespace
}  // namespace fairlead::pick
