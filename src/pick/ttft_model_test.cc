#include "pick/ttft_model.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/check.h"
#include "base/random.h"

namespace fairlead::pick {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class TtftModelTest : public ::testing::Test {
 protected:
  // First tokens that take what `line` says, give or take a tenth.
  void teach(const TtftLine& line, int samples) {
    for (int i = 0; i < samples; ++i) {
      const TtftLoad load{.work = static_cast<float>(random_.below(8'000)),
                          .context = static_cast<float>(random_.below(300'000))};
      const double ms = static_cast<double>(line.ms(load)) * (0.9 + 0.2 * random_.uniform());
      now_ += milliseconds(50);
      model_.learn({.load = load, .took = base::from_seconds(ms / 1e3)}, now_);
    }
  }
  void report(std::optional<uint32_t> cached, int times = 100) {
    for (int i = 0; i < times; ++i) {
      model_.learn_cached({.prompt_tokens = 1'000,
                           .cached_tokens = cached,
                           .predicted_prompt_tokens = 2'000,
                           .hashed_tokens = 2'000,
                           .held_tokens = 1'600});
    }
  }

  base::Random random_{1};
  base::TimePoint now_{};
  TtftModel model_;
};

TEST_F(TtftModelTest, LearnsTheLineItIsShown) {
  const TtftLine line{.base_ms = 30, .work_ms = 25, .context_ms = 0.3F};
  teach(line, 300);
  for (const TtftLoad load :
       {TtftLoad{.work = 100, .context = 0}, TtftLoad{.work = 4'000, .context = 50'000},
        TtftLoad{.work = 500, .context = 250'000}}) {
    EXPECT_NEAR(model_.line().ms(load), line.ms(load), 0.1 * line.ms(load) + 3);
  }
}

TEST_F(TtftModelTest, FollowsAReplicaThatBecomesThreeTimesAsSlow) {
  teach({.base_ms = 10, .work_ms = 30, .context_ms = 0.1F}, 500);
  teach({.base_ms = 30, .work_ms = 90, .context_ms = 0.3F}, 300);
  EXPECT_NEAR(model_.line().ms({.work = 4'000, .context = 100'000}), 420, 60);
}

TEST_F(TtftModelTest, AFirstDozenShowsASlowDevice) {
  teach({.base_ms = 100, .work_ms = 400, .context_ms = 1}, 12);
  EXPECT_GT(model_.line().ms({.work = 2'000}), 600);
  EXPECT_GT(model_.confidence(now_), 0.5F);
}

// Answers in one piece, of 1 to 200 tokens, each a step.
TEST_F(TtftModelTest, LearnsTheSameLineFromWholeAnswers) {
  const TtftLine line{.base_ms = 8, .work_ms = 60, .context_ms = 0.1F};
  for (int i = 0; i < 500; ++i) {
    const TtftLoad load{.work = static_cast<float>(random_.below(8'000)),
                        .context = static_cast<float>(random_.below(100'000))};
    const auto tokens = static_cast<uint32_t>(1 + random_.below(200));
    const TtftLoad step{.context = load.context};
    const double ms =
        static_cast<double>(line.ms(load)) + (tokens - 1) * static_cast<double>(line.ms(step));
    model_.learn({.load = load, .tokens = tokens, .took = base::from_seconds(ms * 1e-3)}, now_);
  }
  for (const TtftLoad load :
       {TtftLoad{.work = 4'000, .context = 20'000}, TtftLoad{.work = 500, .context = 90'000}}) {
    EXPECT_NEAR(model_.line().ms(load), line.ms(load), 0.15 * line.ms(load));
  }
}

TEST_F(TtftModelTest, AnAnswerOfNoTokensTookAStep) {
  TtftModel one;
  model_.learn({.load = {.work = 100}, .tokens = 0, .took = milliseconds(40)}, now_);
  one.learn({.load = {.work = 100}, .tokens = 1, .took = milliseconds(40)}, now_);
  EXPECT_EQ(model_.line().base_ms, one.line().base_ms);
  model_.learn({.load = {.work = 100}, .tokens = UINT32_MAX, .took = base::Nanos::max()}, now_);
  EXPECT_LE(model_.line().base_ms, 2 * base::to_ms(TtftModel::kTookMax));
}

TEST_F(TtftModelTest, WhatTakesForEverCountsAsTheLongest) {
  model_.learn({.load = {.work = 100}, .took = std::chrono::hours(10)}, now_);
  EXPECT_LE(model_.line().ms({.work = 100}), base::to_ms(TtftModel::kTookMax));
  model_.learn({.load = {.work = 100}, .took = base::Nanos(-5)}, now_);
  EXPECT_GE(model_.line().base_ms, 0);
}

TEST_F(TtftModelTest, NoTermIsEverNegative) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    TtftModel model;
    base::Random random(seed);
    for (int i = 0; i < 200; ++i) {
      // Queues that make it faster: an engine that lies.
      const auto work = static_cast<float>(random.below(10'000));
      const double s = random.uniform() * 1'000 / (1 + static_cast<double>(work));
      model.learn({.load = {.work = work, .context = static_cast<float>(random.below(100'000))},
                   .tokens = static_cast<uint32_t>(random.below(50)),
                   .took = base::from_seconds(s)},
                  now_);
      const TtftLine line = model.line();
      ASSERT_GE(line.base_ms, 0) << "seed " << seed;
      ASSERT_GE(line.work_ms, 0) << "seed " << seed;
      ASSERT_GE(line.context_ms, 0) << "seed " << seed;
    }
  }
}

TEST_F(TtftModelTest, KnowledgeGrowsWithSamplesAndAges) {
  EXPECT_EQ(model_.confidence(now_), 0);
  teach({}, 1);
  EXPECT_NEAR(model_.confidence(now_), 1.0 / 9, 0.001);
  teach({}, 199);
  const float known = model_.confidence(now_);
  EXPECT_GT(known, 0.9F);
  EXPECT_EQ(model_.confidence(now_ + TtftModel::kFreshFor), known);
  EXPECT_NEAR(model_.confidence(now_ + seconds(20)), known / 2, 0.001);
  EXPECT_EQ(model_.confidence(now_ + TtftModel::kForgottenAfter), 0);
}

TEST_F(TtftModelTest, BelievesTheIndexUntilTheEngineDoes) {
  EXPECT_EQ(model_.cached_tokens(2'000, 2'000, 1'600), 1'600u);
  report(std::nullopt);  // says nothing, ever
  EXPECT_EQ(model_.cached_tokens(2'000, 2'000, 1'600), 1'600u);
  report(0);
  EXPECT_LT(model_.cached_tokens(2'000, 2'000, 1'600), 10u);
  report(800);  // 80 % of what it calls 1,000 tokens, as predicted
  EXPECT_NEAR(model_.cached_tokens(2'000, 2'000, 1'600), 1'600, 10);
}

TEST_F(TtftModelTest, AnEngineThatReportsMeansNoneWhenItSaysNothing) {
  report(800);
  report(std::nullopt);
  EXPECT_LT(model_.cached_tokens(2'000, 2'000, 1'600), 10u);
}

TEST_F(TtftModelTest, LearnsHowMuchIsCachedPastWhatIsHashed) {
  // Hashed 2,048 of 10,000 tokens, all of those held; beyond them half is taken to be.
  EXPECT_EQ(model_.cached_tokens(10'000, 2'048, 2'048), 2'048u + 7'952 / 2);
  for (int i = 0; i < 200; ++i) {
    model_.learn_cached({.prompt_tokens = 10'000,
                         .cached_tokens = 9'000,
                         .predicted_prompt_tokens = 10'000,
                         .hashed_tokens = 2'048,
                         .held_tokens = 2'048});
  }
  EXPECT_NEAR(model_.cached_tokens(10'000, 2'048, 2'048), 9'000, 50);
  EXPECT_EQ(model_.cached_tokens(10'000, 2'048, 1'024), 1'024u) << "where less is held, no more is";
}

TEST_F(TtftModelTest, CountsTokensFromThePickToFirstByteAndEnd) {
  const PromptWork work{.prompt_tokens = 1'000, .uncached_tokens = 300};
  model_.begin(work);
  model_.begin({.prompt_tokens = 50, .uncached_tokens = 50});
  EXPECT_EQ(model_.queued(), 350u);
  EXPECT_EQ(model_.context(), 1'050u);
  model_.first_byte(work);
  EXPECT_EQ(model_.queued(), 50u);
  model_.end(work);
  EXPECT_EQ(model_.context(), 50u);
  EXPECT_EQ(model_.computed(), 350u);
  model_.take_back(work);
  EXPECT_EQ(model_.computed(), 50u);
}

TEST_F(TtftModelTest, ACounterNeverGoesBelowZero) {
  const uint64_t bugs = base::soft_checks_failed();
  model_.first_byte({.prompt_tokens = 9, .uncached_tokens = 9});
  EXPECT_EQ(model_.queued(), 0u);
  EXPECT_EQ(base::soft_checks_failed(), bugs + 1);
}

TEST_F(TtftModelTest, ResetForgetsAll) {
  teach({.base_ms = 500, .work_ms = 900, .context_ms = 4}, 50);
  model_.begin({.prompt_tokens = 9, .uncached_tokens = 9});
  report(0);
  model_.reset();
  EXPECT_EQ(model_.confidence(now_), 0);
  EXPECT_EQ(model_.line().base_ms, TtftLine{}.base_ms);
  EXPECT_EQ(model_.queued(), 0u);
  EXPECT_EQ(model_.cached_tokens(2'000, 2'000, 1'600), 1'600u);
}

TEST_F(TtftModelTest, ShardsLearnTogether) {
  std::vector<std::thread> shards;
  for (uint64_t shard = 0; shard < 4; ++shard) {
    shards.emplace_back([this, shard] {
      base::Random random(shard);
      for (int i = 0; i < 2'000; ++i) {
        const TtftLoad load{.work = static_cast<float>(random.below(4'000)), .context = 10'000};
        const double ms = 20 + 0.05 * static_cast<double>(load.work);
        model_.learn({.load = load, .took = base::from_seconds(ms * 1e-3)}, now_);
      }
    });
  }
  for (std::thread& shard : shards) shard.join();
  EXPECT_NEAR(model_.line().ms({.work = 2'000, .context = 10'000}), 120, 6);
}

}  // namespace
}  // namespace fairlead::pick
