#include "pick/scorers/prefix_cache.h"

#include <gtest/gtest.h>

#include "pick/testing.h"

namespace fairlead::pick {
namespace {

Scores scored(testing::World& world, const testing::Blocks& prompt, uint32_t holders_max = 5) {
  world.query.blocks = prompt;
  Scores scores(world.columns.slots(), 77);
  PrefixCacheScorer({.holders_max = holders_max})
      .score(world.context(), world.scratch.candidates, scores);
  return scores;
}

testing::Blocks first(const testing::Blocks& blocks, ptrdiff_t count) {
  return {blocks.begin(), blocks.begin() + count};
}

TEST(PrefixCacheScorer, GivesTheHeldShareInWholePercent) {
  testing::World world(3);
  const auto prompt = testing::chain(1, 6);
  world.hold(0, first(prompt, 4));
  world.hold(2, prompt);
  EXPECT_EQ(scored(world, prompt), (Scores{66, 0, 100}));
}

TEST(PrefixCacheScorer, APromptWithoutBlocksScoresZeroEverywhere) {
  testing::World world(2);
  world.hold(0, testing::chain(1, 6));
  EXPECT_EQ(scored(world, {}), (Scores{0, 0}));
}

TEST(PrefixCacheScorer, OnlyTheDeepestHoldersScore) {
  testing::World world(4);
  const auto prompt = testing::chain(1, 10);
  for (Slot slot = 0; slot < 4; ++slot) world.hold(slot, first(prompt, 2 + 2 * slot));
  EXPECT_EQ(scored(world, prompt, 2), (Scores{0, 0, 60, 80}));
  EXPECT_EQ(scored(world, prompt, 4), (Scores{20, 40, 60, 80}));
}

TEST(PrefixCacheScorer, OfEquallyDeepHoldersNoneIsLeftOut) {
  testing::World world(3);
  const auto prompt = testing::chain(1, 10);
  for (Slot slot = 0; slot < 3; ++slot) world.hold(slot, prompt);
  EXPECT_EQ(scored(world, prompt, 1), (Scores{100, 100, 100}));
}

}  // namespace
}  // namespace fairlead::pick
