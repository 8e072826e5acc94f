#include "pick/pickers/prefix_affinity.h"

#include <gtest/gtest.h>

#include "pick/testing.h"

namespace fairlead::pick {
namespace {

class PrefixAffinityPickerTest : public ::testing::Test {
 protected:
  Pick pick(Scores load, Scores share) {
    world_.scratch.scores[0] = std::move(load);
    world_.scratch.scores[1] = std::move(share);
    return picker_.pick(world_.context());
  }
  testing::World world_{4};
  PrefixAffinityPicker picker_{{.load_factor = 2, .share_min = 0.5}};
};

TEST_F(PrefixAffinityPickerTest, AHolderMayHaveLessThanTheBoundAndNoMore) {
  // mean 2, so the bound is 2 * (2 + 1) = 6
  EXPECT_EQ(pick({5, 1, 1, 1}, {1, 0, 0, 0}).reason, Reason::kHoldsPrefix);
  // mean 2.25, bound 6.5; then mean 2.5, bound 7
  EXPECT_EQ(pick({6, 1, 1, 1}, {1, 0, 0, 0}).slot, 0);
  EXPECT_EQ(pick({7, 1, 1, 1}, {1, 0, 0, 0}).reason, Reason::kHolderTooBusy);
}

TEST_F(PrefixAffinityPickerTest, TakesTheLargestShareAmongHoldersThatAreAllowed) {
  EXPECT_EQ(pick({20, 1, 0, 3}, {0.9F, 0.5F, 0.4F, 0.8F}).slot, 3);
  EXPECT_EQ(pick({20, 1, 0, 3}, {0.9F, 0.5F, 0.4F, 0.4F}).slot, 1);
}

TEST_F(PrefixAffinityPickerTest, AShareBelowTheSmallestMakesNoHolder) {
  const Pick cold = pick({1, 0, 1, 1}, {0.49F, 0, 0, 0});
  EXPECT_EQ(cold.slot, 1);
  EXPECT_EQ(cold.reason, Reason::kPrefixCold);
}

TEST_F(PrefixAffinityPickerTest, WithoutASmallestShareNothingHeldIsStillNoHolder) {
  PrefixAffinityPicker any{{.load_factor = 2, .share_min = 0}};
  world_.scratch.scores[0] = {1, 0, 1, 1};
  world_.scratch.scores[1] = {0, 0, 0, 0};
  EXPECT_EQ(any.pick(world_.context()).reason, Reason::kPrefixCold);
}

}  // namespace
}  // namespace fairlead::pick
