#include "pick/scorers/prefix.h"

#include <gtest/gtest.h>

#include "pick/testing.h"

namespace fairlead::pick {
namespace {

TEST(PrefixScorer, GivesTheShareOfThePromptThatIsHeld) {
  testing::World world(3);
  const auto blocks = testing::chain(1, 16);
  world.query.blocks = blocks;
  world.hold(0, testing::Blocks(blocks.begin(), blocks.begin() + 4));
  world.hold(2, blocks);
  Scores scores(3);
  PrefixScorer().score(world.context(), world.scratch.candidates, scores);
  EXPECT_EQ(scores, (Scores{0.25F, 0, 1}));
  EXPECT_EQ(world.scratch.depths.of(2), 16u);
}

TEST(PrefixScorer, APromptWithoutBlocksScoresZero) {
  testing::World world(2);
  Scores scores(2);
  PrefixScorer().score(world.context(), world.scratch.candidates, scores);
  EXPECT_EQ(scores, (Scores{0, 0}));
}

TEST(PrefixScorer, ForgetsThePromptBefore) {
  testing::World world(2);
  const auto held = testing::chain(1, 8);
  const auto other = testing::chain(2, 8);
  world.hold(1, held);
  Scores scores(2);
  world.query.blocks = held;
  PrefixScorer().score(world.context(), world.scratch.candidates, scores);
  world.query.blocks = other;
  PrefixScorer().score(world.context(), world.scratch.candidates, scores);
  EXPECT_EQ(scores, (Scores{0, 0}));
}

}  // namespace
}  // namespace fairlead::pick
