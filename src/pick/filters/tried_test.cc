#include "pick/filters/tried.h"

#include <gtest/gtest.h>

#include <array>

#include "pick/testing.h"

namespace fairlead::pick {
namespace {

TEST(TriedFilter, RemovesWhatWasTriedAndKeepsTheOrder) {
  testing::World world(4);
  const std::array<Slot, 3> tried{2, 0, 2};
  world.query.tried = tried;
  TriedFilter().apply(world.context());
  EXPECT_EQ(world.scratch.candidates, (std::vector<Slot>{1, 3}));
}

TEST(TriedFilter, LeavesAFirstAttemptAlone) {
  testing::World world(3);
  TriedFilter().apply(world.context());
  EXPECT_EQ(world.scratch.candidates.size(), 3u);
}

}  // namespace
}  // namespace fairlead::pick
