#include "pick/scorers/expected_ttft.h"

#include <gtest/gtest.h>

#include "pick/scorers/prefix.h"
#include "pick/testing.h"

namespace fairlead::pick {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ExpectedTtftScorerTest : public ::testing::Test {
 protected:
  ExpectedTtftScorerTest() {
    world_.query.prompt_tokens = 1'600;
    world_.query.blocks = prompt_;
    world_.query.now = base::TimePoint(seconds(100));
  }
  float score(Slot slot) {
    const Context context = world_.context();
    PrefixScorer().score(context, world_.scratch.candidates, prefix_);
    ExpectedTtftScorer().score(context, world_.scratch.candidates, ttft_);
    return ttft_[slot];
  }
  void teach(Slot slot, const TtftLine& line) {
    for (int i = 0; i < 500; ++i) {
      const TtftLoad load{.work = static_cast<float>(i * 17 % 4'000),
                          .context = static_cast<float>(i * 7'919 % 200'000)};
      world_.columns.ttft_model(slot).learn(
          {.load = load, .took = base::from_seconds(static_cast<double>(line.ms(load)) / 1e3)},
          world_.query.now);
    }
  }

  testing::World world_{3};
  const testing::Blocks prompt_ = testing::chain(1, 96);
  Scores prefix_ = Scores(3, 0.0F);
  Scores ttft_ = Scores(3, 0.0F);
};

TEST_F(ExpectedTtftScorerTest, QueueAndUncachedPromptAreOneSum) {
  const TtftLine line;
  EXPECT_FLOAT_EQ(score(0), line.ms({.work = 1'600}));
  world_.columns.ttft_model(0).begin({.prompt_tokens = 5'000, .uncached_tokens = 700});
  EXPECT_FLOAT_EQ(score(0), line.ms({.work = 2'300, .context = 5'000}));
  world_.columns.ttft_model(0).first_byte({.prompt_tokens = 5'000, .uncached_tokens = 700});
  EXPECT_FLOAT_EQ(score(0), line.ms({.work = 1'600, .context = 5'000}));
}

TEST_F(ExpectedTtftScorerTest, WhatIsHeldNeedsNotBeComputed) {
  world_.hold(1, testing::Blocks(prompt_.begin(), prompt_.begin() + 48));
  EXPECT_FLOAT_EQ(score(1), TtftLine{}.ms({.work = 1'600 - 48 * 16}));
  EXPECT_EQ(world_.scratch.expected[1].held_tokens, 48u * 16);
  EXPECT_EQ(world_.scratch.expected[1].hashed_tokens, 96u * 16);
}

TEST_F(ExpectedTtftScorerTest, AtLeastOneTokenIsComputed) {
  world_.query.prompt_tokens = 96 * 16;
  world_.hold(1, prompt_);
  score(1);
  EXPECT_EQ(world_.scratch.expected[1].uncached_tokens, 1u);
}

TEST_F(ExpectedTtftScorerTest, EachReplicaGoesByItsOwnLine) {
  teach(0, {.base_ms = 10, .work_ms = 30, .context_ms = 0.1F});
  teach(1, {.base_ms = 20, .work_ms = 300, .context_ms = 0.1F});
  EXPECT_GT(score(1), 3 * score(0));
}

TEST_F(ExpectedTtftScorerTest, AReplicaOfWhichNothingIsKnownIsLikeTheOthers) {
  teach(0, {.base_ms = 100, .work_ms = 500, .context_ms = 1});
  teach(1, {.base_ms = 100, .work_ms = 500, .context_ms = 1});
  EXPECT_NEAR(score(2), score(0), 0.02 * score(0));
}

TEST_F(ExpectedTtftScorerTest, ASlowPastIsForgotten) {
  teach(0, {.base_ms = 1'000, .work_ms = 5'000, .context_ms = 1});
  world_.query.now += seconds(60);
  teach(1, {.base_ms = 10, .work_ms = 30, .context_ms = 0.1F});
  EXPECT_FLOAT_EQ(score(0), score(1));
}

TEST_F(ExpectedTtftScorerTest, RequestsOfOthersCountLessTheOlderTheSample) {
  const auto scraped = [&](base::Nanos age) {
    world_.columns.set_scraped(0, {.running = 6, .waiting = 4, .at = world_.query.now - age}, 0);
    return score(0);
  };
  const TtftLine line;
  EXPECT_FLOAT_EQ(scraped(seconds(0)), line.ms({.work = 1'600 * 5, .context = 16'000}));
  EXPECT_FLOAT_EQ(scraped(seconds(5)), line.ms({.work = 1'600 * 3, .context = 8'000}));
  EXPECT_FLOAT_EQ(scraped(ExpectedTtftScorer::kScrapeAgeMax), line.ms({.work = 1'600}));
  EXPECT_FLOAT_EQ(scraped(seconds(-1)), scraped(seconds(0))) << "taken after the request came";
}

}  // namespace
}  // namespace fairlead::pick
