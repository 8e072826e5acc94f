#include "pick/filters/least_request.h"

#include <gtest/gtest.h>

#include "pick/testing.h"

namespace fairlead::pick {
namespace {

std::vector<Slot> filtered(testing::World& world, uint32_t waiting_max) {
  LeastRequestFilter({.waiting_max = waiting_max}).apply(world.context());
  return world.scratch.candidates;
}

TEST(LeastRequestFilter, KeepsQueuesBelowTheBoundInTheirOrder) {
  testing::World world(4);
  for (Slot slot = 0; slot < 4; ++slot) {
    world.columns.set_scraped(slot, {.running = 50, .waiting = 8u + slot}, 0);
  }
  EXPECT_EQ(filtered(world, 10), (std::vector<Slot>{0, 1}));
}

TEST(LeastRequestFilter, LeavesNothingWhereAllQueuesAreLong) {
  testing::World world(2);
  for (Slot slot = 0; slot < 2; ++slot) world.columns.set_scraped(slot, {.waiting = 10}, 0);
  EXPECT_TRUE(filtered(world, 10).empty());
}

TEST(LeastRequestFilter, WhatIsNotKnownIsNoReasonToRefuse) {
  testing::World world(3);
  world.columns.set_scraped(0, {.waiting = 99}, 0);
  world.columns.set_scraped(1, {.waiting = 99}, 0);
  world.columns.set_stale(1);
  EXPECT_EQ(filtered(world, 10), (std::vector<Slot>{1, 2}));
}

}  // namespace
}  // namespace fairlead::pick
