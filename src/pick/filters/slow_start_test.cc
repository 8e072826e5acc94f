#include "pick/filters/slow_start.h"

#include <gtest/gtest.h>

#include "pick/testing.h"

namespace fairlead::pick {
namespace {

// In how many of 1,000 picks the slot is a candidate.
int passes(testing::World& world, Slot slot) {
  int passed = 0;
  for (int i = 0; i < 1'000; ++i) {
    world.scratch.candidates.assign(world.query.model->slots.begin(),
                                    world.query.model->slots.end());
    SlowStartFilter().apply(world.context());
    const std::vector<Slot>& left = world.scratch.candidates;
    passed += std::find(left.begin(), left.end(), slot) == left.end() ? 0 : 1;
  }
  return passed;
}

TEST(SlowStartFilter, PassesAReturningReplicaInItsShareOfThePicks) {
  testing::World world(4);
  world.columns.set_share(2, 0.25F);
  EXPECT_NEAR(passes(world, 2), 250, 50);
  EXPECT_EQ(passes(world, 1), 1'000);
  world.columns.set_share(2, 1);
  EXPECT_EQ(passes(world, 2), 1'000);
}

TEST(SlowStartFilter, BoundsWhatIsInFlightByTheShareOfTheOthersMean) {
  testing::World world(3);
  world.columns.set_share(2, 0.5F);
  world.load(0, 10);
  world.load(1, 30);  // a mean of 20
  world.load(2, 10);
  EXPECT_GT(passes(world, 2), 0) << "10 is within 0.5 * 20 + 1";
  world.load(2, 1);
  EXPECT_EQ(passes(world, 2), 0) << "one past it";
}

TEST(SlowStartFilter, TriesAReplicaWithThreeRequestsAtATime) {
  testing::World world(2);
  world.columns.set_share(1, 0);
  world.load(1, 2);
  EXPECT_EQ(passes(world, 1), 1'000);
  world.load(1, 1);
  EXPECT_EQ(passes(world, 1), 0);
}

TEST(SlowStartFilter, PassesAllWhereAllComeBack) {
  testing::World world(2);
  world.columns.set_share(0, 0.1F);
  world.columns.set_share(1, 0);
  world.load(1, 9);
  EXPECT_EQ(passes(world, 0), 1'000);
  EXPECT_EQ(passes(world, 1), 1'000);
}

TEST(SlowStartFilter, SaysWhyItHoldsAReplicaBack) {
  testing::World world(3);
  world.columns.set_share(0, 0);
  world.columns.set_share(1, 0.9F);
  EXPECT_EQ(SlowStartFilter().why(world.context(), 0), "on trial");
  EXPECT_EQ(SlowStartFilter().why(world.context(), 1), "slow start");
  EXPECT_EQ(SlowStartFilter().why(world.context(), 2), "");
}

}  // namespace
}  // namespace fairlead::pick
