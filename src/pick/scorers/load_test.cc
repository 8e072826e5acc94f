#include "pick/scorers/load.h"

#include <gtest/gtest.h>

#include <array>

#include "pick/testing.h"

namespace fairlead::pick {
namespace {

TEST(LoadScorer, AddsOwnRequestsAndThoseOfOthers) {
  testing::World world(3);
  world.load(0, 2);
  world.load(1, 1);
  world.columns.set_scraped(1, {.running = 3, .waiting = 2}, 1);
  Scores scores(3);
  LoadScorer().score(world.context(), std::array<Slot, 3>{0, 1, 2}, scores);
  EXPECT_EQ(scores, (Scores{2, 5, 0}));
}

}  // namespace
}  // namespace fairlead::pick
