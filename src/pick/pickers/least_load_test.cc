#include "pick/pickers/least_load.h"

#include <gtest/gtest.h>

#include <array>

#include "pick/scorers/load.h"
#include "pick/testing.h"

namespace fairlead::pick {
namespace {

TEST(LeastLoadPicker, DrawsAmongFullTiesEvenly) {
  testing::World world(5);
  world.columns.begin(1, 10);
  world.columns.end(1);  // as idle as the others, but given more
  world.load(2, 3);
  const LoadScorer load;
  const std::array<const Scorer*, 1> scorers{&load};
  std::array<int, 5> count{};
  for (int i = 0; i < 3'000; ++i) ++count[LeastLoadPicker().pick(world.context(scorers)).slot];
  EXPECT_EQ(count[1], 0);
  EXPECT_EQ(count[2], 0);
  for (const size_t slot : {0u, 3u, 4u}) EXPECT_NEAR(count[slot], 1'000, 120);
}

TEST(LeastLoadPicker, PrefersLessLoadForTheExplanation) {
  testing::World world(2);
  world.scratch.scores[0] = {2, 1};
  EXPECT_TRUE(LeastLoadPicker().prefers(world.context(), 1, 0));
  EXPECT_FALSE(LeastLoadPicker().prefers(world.context(), 0, 1));
}

}  // namespace
}  // namespace fairlead::pick
