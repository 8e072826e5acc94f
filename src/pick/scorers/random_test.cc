#include "pick/scorers/random.h"

#include <gtest/gtest.h>

#include <set>

#include "pick/testing.h"

namespace fairlead::pick {
namespace {

TEST(RandomScorer, DrawsWholeNumbersFromZeroToAHundred) {
  testing::World world(50);
  std::set<float> drawn;
  Scores scores(50);
  for (int i = 0; i < 100; ++i) {
    RandomScorer().score(world.context(), world.scratch.candidates, scores);
    drawn.insert(scores.begin(), scores.end());
  }
  EXPECT_EQ(drawn.size(), 101u);
  EXPECT_EQ(*drawn.begin(), 0);
  EXPECT_EQ(*drawn.rbegin(), 100);
}

}  // namespace
}  // namespace fairlead::pick
