#include "pick/pickers/prefix_affinity.h"

#include <gtest/gtest.h>

#include <array>

#include "pick/scorers/load.h"
#include "pick/scorers/prefix.h"
#include "pick/testing.h"

namespace fairlead::pick {
namespace {

class PrefixAffinityPickerTest : public ::testing::Test {
 protected:
  static constexpr size_t kBlocks = 10;

  // Four replicas with these loads that hold so many of the prompt's ten blocks.
  Pick pick(std::array<uint32_t, 4> loads, std::array<ptrdiff_t, 4> held,
            PrefixAffinityOptions options = {.load_factor = 2, .share_min = 0.5}) {
    testing::World world(4);
    const testing::Blocks prompt = testing::chain(1, kBlocks);
    world.query.blocks = prompt;
    for (Slot slot = 0; slot < 4; ++slot) {
      world.load(slot, loads[slot]);
      world.hold(slot, testing::Blocks(prompt.begin(), prompt.begin() + held[slot]));
    }
    const LoadScorer load;
    const PrefixScorer prefix;
    const std::array<const Scorer*, 2> scorers{&load, &prefix};
    return PrefixAffinityPicker(options).pick(world.context(scorers));
  }
};

TEST_F(PrefixAffinityPickerTest, AHolderMayHaveLessThanTheBoundAndNoMore) {
  // mean 2, so the bound is 2 * (2 + 1) = 6; then mean 2.25, bound 6.5; then mean 2.5, bound 7
  EXPECT_EQ(pick({5, 1, 1, 1}, {10, 0, 0, 0}).reason, Reason::kHoldsPrefix);
  EXPECT_EQ(pick({6, 1, 1, 1}, {10, 0, 0, 0}).slot, 0);
  EXPECT_EQ(pick({7, 1, 1, 1}, {10, 0, 0, 0}).reason, Reason::kHolderTooBusy);
}

TEST_F(PrefixAffinityPickerTest, TakesTheLargestShareAmongHoldersThatAreAllowed) {
  EXPECT_EQ(pick({20, 1, 0, 3}, {9, 5, 4, 8}).slot, 3);
  EXPECT_EQ(pick({20, 1, 0, 3}, {9, 5, 4, 4}).slot, 1);
}

TEST_F(PrefixAffinityPickerTest, AShareBelowTheSmallestMakesNoHolder) {
  EXPECT_EQ(pick({1, 0, 1, 1}, {5, 0, 0, 0}).slot, 0);
  const Pick cold = pick({1, 0, 1, 1}, {4, 0, 0, 0});
  EXPECT_EQ(cold.slot, 1);
  EXPECT_EQ(cold.reason, Reason::kPrefixCold);
}

TEST_F(PrefixAffinityPickerTest, WithoutASmallestShareWhoHoldsNothingIsStillNoHolder) {
  const PrefixAffinityOptions any{.load_factor = 2, .share_min = 0};
  EXPECT_EQ(pick({1, 0, 1, 1}, {0, 0, 0, 0}, any).reason, Reason::kPrefixCold);
  EXPECT_EQ(pick({1, 0, 1, 1}, {1, 0, 0, 0}, any).reason, Reason::kHoldsPrefix);
}

}  // namespace
}  // namespace fairlead::pick
