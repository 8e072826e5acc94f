#include "pick/pickers/power_of_two.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "pick/scorers/load.h"
#include "pick/testing.h"

namespace fairlead::pick {
namespace {

const LoadScorer kLoad;
const std::array<const Scorer*, 1> kScorers{&kLoad};

TEST(PowerOfTwoPicker, TheBusiestOfAllIsNeverPickedAndAllOthersAre) {
  testing::World world(4);
  for (Slot slot = 0; slot < 4; ++slot) world.load(slot, 4u - slot);
  std::array<int, 4> count{};
  for (int i = 0; i < 6'000; ++i) {
    ++count[PowerOfTwoPicker().pick(world.context(kScorers)).slot];
  }
  // Slot 3 wins 3 of the 6 pairs, slot 2 two of them, slot 1 one.
  EXPECT_EQ(count[0], 0);
  EXPECT_NEAR(count[1], 1'000, 150);
  EXPECT_NEAR(count[2], 2'000, 200);
  EXPECT_NEAR(count[3], 3'000, 200);
}

TEST(PowerOfTwoPicker, TakesTheOnlyCandidate) {
  testing::World world(1);
  EXPECT_EQ(PowerOfTwoPicker().pick(world.context(kScorers)).slot, 0);
}

TEST(PowerOfTwoPicker, KeepsTheLargestLoadNearTheMean) {
  constexpr uint32_t kReplicas = 50;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    testing::World world(kReplicas);
    world.random = base::Random(seed);
    for (uint32_t i = 0; i < 20 * kReplicas; ++i) {
      world.load(PowerOfTwoPicker().pick(world.context(kScorers)).slot, 1);
    }
    uint32_t most = 0;
    for (Slot slot = 0; slot < kReplicas; ++slot) most = std::max(most, world.columns.load(slot));
    EXPECT_LE(most, 24u) << "seed " << seed;  // one random choice gives about 32
  }
}

}  // namespace
}  // namespace fairlead::pick
