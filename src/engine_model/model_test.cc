#include "engine_model/model.h"

#include <map>
#include <numeric>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace fairlead::engine_model {
namespace {

// Tokens no prompt here contains.
class Source : public TokenSource {
 public:
  Next next_token(uint64_t user) override {
    const Token token = 1'000'000 + static_cast<Token>(user) * 10'000 + produced[user]++;
    return {.token = token, .stop = stop_after != 0 && produced[user] == stop_after};
  }
  std::map<uint64_t, Token> produced;
  Token stop_after = 0;
};

std::vector<Token> range(Token first, size_t count) {
  std::vector<Token> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

class ModelTest : public ::testing::Test {
 protected:
  ModelTest() {
    profile_ = *find_profile("rtx3060-qwen3-0.6b");
    config_.num_gpu_blocks = 40;
  }
  EngineModel& model() {
    if (!model_) model_.emplace(config_, profile_, source_);
    return *model_;
  }
  RequestId add(std::vector<Token> prompt, uint32_t output, uint64_t user = 1, uint64_t seed = 0) {
    auto id = model().add({.prompt = std::move(prompt),
                           .output_tokens_max = output,
                           .cache_seed = seed,
                           .user = user},
                          now_);
    CHECK(id.ok(), "add");
    return *id;
  }
  StepPlan step() {
    const StepPlan plan = model().plan_step(now_);
    now_ += plan.duration;
    outputs_.clear();
    if (plan.requests == 0) return plan;
    for (const Output& out : model().finish_step(now_)) {
      outputs_.push_back(out);
      if (out.finish != Finish::kNone) stats_[out.user] = *out.stats;
    }
    return plan;
  }
  void drain() {
    for (int i = 0; model().has_work(); ++i) {
      ASSERT_LT(i, 100'000) << "the engine makes no progress";
      step();
    }
  }
  // Runs one request alone; returns its cached tokens.
  uint32_t run(std::vector<Token> prompt, uint32_t output, uint64_t seed = 0) {
    add(std::move(prompt), output, 1, seed);
    drain();
    return stats_[1].cached_tokens;
  }

  ModelConfig config_;
  Profile profile_;
  Source source_;
  std::optional<EngineModel> model_;
  base::TimePoint now_{};
  std::vector<Output> outputs_;
  std::map<uint64_t, RequestStats> stats_;
};

TEST_F(ModelTest, ComputesAPromptInChunksOfTheBudget) {
  config_.max_num_batched_tokens = 64;
  add(range(0, 150), 2);
  EXPECT_EQ(step().tokens, 64u);
  EXPECT_TRUE(outputs_.empty());
  EXPECT_EQ(step().tokens, 64u);
  EXPECT_EQ(step().tokens, 22u);
  ASSERT_EQ(outputs_.size(), 1u);
  EXPECT_EQ(outputs_[0].finish, Finish::kNone);
  EXPECT_EQ(step().tokens, 1u);
  ASSERT_EQ(outputs_.size(), 1u);
  EXPECT_EQ(outputs_[0].finish, Finish::kLength);
  EXPECT_FALSE(model().has_work());
  EXPECT_EQ(model().load().blocks_used, 0u);
}

TEST_F(ModelTest, SharesTheBudgetBetweenDecodeAndPrefill) {
  config_.max_num_batched_tokens = 20;
  add(range(0, 10), 10, 1);
  step();
  add(range(1000, 30), 1, 2);
  EXPECT_EQ(step().tokens, 20u);  // 1 of the first, 19 of the second
  ASSERT_EQ(outputs_.size(), 1u);
  EXPECT_EQ(outputs_[0].user, 1u);
  EXPECT_EQ(step().tokens, 12u);
  EXPECT_EQ(outputs_.size(), 2u);
}

TEST_F(ModelTest, WithoutChunksAPromptWaitsForAStepThatHoldsIt) {
  config_.max_num_batched_tokens = 32;
  config_.enable_chunked_prefill = false;
  add(range(0, 20), 2, 1);
  add(range(100, 20), 2, 2);
  EXPECT_EQ(step().tokens, 20u);
  EXPECT_EQ(step().tokens, 21u);
  auto too_long = model().add({.prompt = range(0, 30), .output_tokens_max = 3}, now_);
  ASSERT_FALSE(too_long.ok());
  EXPECT_EQ(too_long.error().code(), base::ErrorCode::kInvalidArgument);
  EXPECT_TRUE(model().add({.prompt = range(0, 30), .output_tokens_max = 2}, now_).ok());
}

TEST_F(ModelTest, SeatsAtMostMaxNumSeqs) {
  config_.max_num_seqs = 2;
  for (uint64_t user = 1; user <= 3; ++user) {
    add(range(static_cast<Token>(user * 100), 5), 2, user);
  }
  EXPECT_EQ(step().requests, 2u);
  EXPECT_EQ(model().load().running, 2u);
  EXPECT_EQ(model().load().waiting, 1u);
  step();
  EXPECT_EQ(model().load().running, 0u);
  EXPECT_EQ(step().requests, 1u);
  EXPECT_EQ(outputs_[0].user, 3u);
}

TEST_F(ModelTest, StopsWhereTheSourceSaysSo) {
  source_.stop_after = 3;
  add(range(0, 5), 10);
  step();
  step();
  step();
  ASSERT_EQ(outputs_.size(), 1u);
  EXPECT_EQ(outputs_[0].finish, Finish::kStop);
  EXPECT_EQ(stats_[1].output_tokens, 3u);
}

TEST_F(ModelTest, RefusesWhatCouldNeverRun) {
  const uint32_t room = 39 * 16;
  EXPECT_TRUE(model().add({.prompt = range(0, room - 1), .output_tokens_max = 1}, now_).ok());
  EXPECT_FALSE(model().add({.prompt = range(0, room - 1), .output_tokens_max = 2}, now_).ok());
  EXPECT_FALSE(model().add({.prompt = {}, .output_tokens_max = 2}, now_).ok());
  EXPECT_FALSE(model().add({.prompt = range(0, 3), .output_tokens_max = 0}, now_).ok());
  drain();
}

TEST_F(ModelTest, AnAbortBetweenStepsFreesAtOnce) {
  const RequestId id = add(range(0, 100), 10);
  step();
  EXPECT_GT(model().load().blocks_used, 0u);
  model().abort(id);
  EXPECT_EQ(model().load().blocks_used, 0u);
  EXPECT_FALSE(model().has_work());
  EXPECT_EQ(model().plan_step(now_).requests, 0u);
  EXPECT_FALSE(model().in_step());
}

TEST_F(ModelTest, APoolingRequestEndsWithItsPrompt) {
  config_.max_num_batched_tokens = 32;
  const uint32_t room = 39 * 16;
  const auto pool = [&](std::vector<Token> prompt) {
    return model().add({.prompt = std::move(prompt), .pooling = true, .user = 1}, now_).ok();
  };
  EXPECT_FALSE(pool(range(0, room + 1)));
  ASSERT_TRUE(pool(range(0, 40)));
  step();
  EXPECT_TRUE(outputs_.empty());
  step();
  ASSERT_EQ(outputs_.size(), 1u);
  EXPECT_EQ(outputs_[0].finish, Finish::kStop);
  EXPECT_EQ(stats_[1].output_tokens, 0u);
  EXPECT_EQ(stats_[1].first_token, now_);
  EXPECT_FALSE(model().has_work());
  EXPECT_EQ(model().counters().prompt_tokens, 40u);
  EXPECT_EQ(model().counters().output_tokens, 0u);
  EXPECT_TRUE(source_.produced.empty());
  ASSERT_TRUE(pool(range(0, room)));
  drain();
  EXPECT_EQ(stats_[1].cached_tokens, 32u) << "its blocks are cached as those of other prompts";
}

TEST_F(ModelTest, AnAdapterWithoutASeatLetsOthersPass) {
  config_.max_loras = 1;
  const auto use = [&](uint32_t adapter, uint64_t user, uint32_t output) {
    ASSERT_TRUE(model()
                    .add({.prompt = range(0, 8),
                          .output_tokens_max = output,
                          .adapter = adapter,
                          .cache_seed = adapter,
                          .user = user},
                         now_)
                    .ok());
  };
  use(1, 11, 3);
  use(2, 12, 1);
  use(0, 13, 1);
  use(1, 14, 1);
  step();
  EXPECT_EQ(model().load().waiting, 1u);
  EXPECT_EQ(model().load().deferred, 1u);
  ASSERT_EQ(outputs_.size(), 3u);
  EXPECT_EQ(outputs_[1].user, 13u);
  EXPECT_EQ(outputs_[2].user, 14u);
  step();
  step();
  EXPECT_EQ(stats_.count(12), 0u);
  step();
  EXPECT_EQ(stats_.count(12), 1u);
  EXPECT_FALSE(model().has_work());
}

TEST_F(ModelTest, RefusesAdaptersWithoutSeats) {
  EXPECT_FALSE(
      model().add({.prompt = range(0, 8), .output_tokens_max = 1, .adapter = 1}, now_).ok());
}

TEST_F(ModelTest, ComputesTheLastBlockOfAFullyCachedPromptAgain) {
  EXPECT_EQ(run(range(0, 64), 1), 0u);
  EXPECT_EQ(run(range(0, 64), 1), 48u);
  EXPECT_EQ(run(range(0, 65), 1), 64u);
  EXPECT_EQ(run(range(0, 63), 1), 48u);
  EXPECT_EQ(model().counters().prefix_cache_queries, 64u + 64 + 65 + 63);
  EXPECT_EQ(model().counters().prefix_cache_hits, 48u + 64 + 48);
}

TEST_F(ModelTest, CachesWhatItGenerated) {
  add(range(0, 16), 20);
  drain();
  std::vector<Token> next_turn = range(0, 16);
  for (Token i = 0; i < 20; ++i) next_turn.push_back(1'010'000 + i);
  next_turn.push_back(5);
  EXPECT_EQ(run(next_turn, 1), 32u);
}

TEST_F(ModelTest, KeepsSeedsApart) {
  run(range(0, 64), 1, 1);
  EXPECT_EQ(run(range(0, 64), 1, 2), 0u);
  EXPECT_EQ(run(range(0, 64), 1, 1), 48u);
}

TEST_F(ModelTest, FindsNothingWithPrefixCachingOff) {
  config_.enable_prefix_caching = false;
  run(range(0, 64), 20);
  EXPECT_EQ(run(range(0, 64), 20), 0u);
  EXPECT_EQ(model().counters().prefix_cache_queries, 0u);
}

TEST_F(ModelTest, PreemptsTheYoungestAndComputesItAgain) {
  config_.num_gpu_blocks = 6;  // 80 tokens
  add(range(0, 30), 40, 1);
  add(range(100, 30), 40, 2);
  drain();
  EXPECT_EQ(stats_[1].output_tokens, 40u);
  EXPECT_EQ(stats_[2].output_tokens, 40u);
  EXPECT_EQ(stats_[1].preemptions, 0u);
  EXPECT_GT(stats_[2].preemptions, 0u);
  EXPECT_EQ(model().counters().preemptions, stats_[2].preemptions);
  EXPECT_LT(stats_[1].last_token, stats_[2].last_token);
  EXPECT_EQ(model().load().blocks_used, 0u);
}

TEST_F(ModelTest, AbortsARunningRequestAtTheNextStep) {
  const RequestId id = add(range(0, 40), 100, 1);
  add(range(100, 40), 2, 2);
  step();
  EXPECT_EQ(model().load().blocks_used, 6u);
  model().abort(id);
  model().abort(id);
  EXPECT_EQ(step().requests, 1u);
  ASSERT_EQ(outputs_.size(), 1u);
  EXPECT_EQ(outputs_[0].user, 2u);
  EXPECT_EQ(model().load().blocks_used, 0u);
  EXPECT_FALSE(model().has_work());
}

TEST_F(ModelTest, AbortsWithinAStepWithoutAnotherToken) {
  const RequestId id = add(range(0, 40), 100, 1);
  const StepPlan plan = model().plan_step(now_);
  EXPECT_EQ(plan.requests, 1u);
  model().abort(id);
  EXPECT_TRUE(model().finish_step(now_).empty());
  EXPECT_EQ(model().load().blocks_used, 0u);
  EXPECT_FALSE(model().has_work());
}

TEST_F(ModelTest, AbortsAWaitingRequestAtOnceAndForgetsItsName) {
  config_.max_num_seqs = 1;
  add(range(0, 40), 3, 1);
  const RequestId waiting = add(range(100, 40), 3, 2);
  step();
  model().abort(waiting);
  EXPECT_EQ(model().load().waiting, 0u);
  const RequestId reused = add(range(200, 40), 3, 3);
  EXPECT_NE(waiting, reused);
  model().abort(waiting);  // an old name does not hit the new request
  drain();
  EXPECT_EQ(stats_.count(2), 0u);
  EXPECT_EQ(stats_[3].output_tokens, 3u);
}

TEST_F(ModelTest, TimesTheRequest) {
  config_.max_num_seqs = 1;
  add(range(0, 40), 3, 1);
  add(range(100, 40), 1, 2);
  drain();
  EXPECT_EQ(stats_[1].scheduled, stats_[1].added);
  EXPECT_LT(stats_[1].first_token, stats_[1].last_token);
  EXPECT_EQ(stats_[2].scheduled, stats_[1].last_token);
  EXPECT_EQ(stats_[2].first_token, now_);
}

TEST_F(ModelTest, SpeedScalesTheStep) {
  add(range(0, 40), 1, 1);
  const base::Nanos normal = step().duration;
  model().set_speed(10);
  add(range(100, 40), 1, 2);
  EXPECT_NEAR(static_cast<double>(step().duration.count()),
              static_cast<double>(normal.count()) / 10, 1);
}

// What a real vLLM 0.20.2 with 40 blocks announced for these requests: S stores, R removes, each
// with the number of the block hash in order of first appearance, so the eviction order is exact.
TEST_F(ModelTest, EvictsAndAnnouncesAsARecordedVllmDid) {
  config_.record_events = true;
  std::map<uint64_t, size_t> numbers;
  auto taken = [&] {
    std::string text;
    EventLog& log = model().events();
    for (const BlockEvent& e : log.events()) {
      if (e.kind == BlockEvent::Kind::kCleared) {
        text += "C ";
        continue;
      }
      text += e.kind == BlockEvent::Kind::kStored ? "S" : "R";
      for (uint64_t hash : log.hashes(e)) {
        text += fmt::format("{},", numbers.emplace(hash, numbers.size()).first->second);
      }
      text.back() = ' ';
      if (e.kind == BlockEvent::Kind::kStored) {
        const auto tokens = log.tokens(e);
        text += fmt::format("[{}..{}]{} ", tokens.front(), tokens.back(),
                            e.has_parent ? fmt::format("<{}", numbers.at(e.parent)) : "");
      }
    }
    log.clear();
    if (!text.empty()) text.pop_back();
    return text;
  };
  const uint64_t salted = 1;

  EXPECT_EQ(run(range(100, 160), 2), 0u);
  EXPECT_EQ(taken(), "S0,1,2,3,4,5,6,7,8,9 [100..259]");
  EXPECT_EQ(run(range(100, 160), 2), 144u);
  EXPECT_EQ(taken(), "S9 [244..259]<8");
  EXPECT_EQ(run(range(100, 160), 2, salted), 0u);
  EXPECT_EQ(taken(), "S10,11,12,13,14,15,16,17,18,19 [100..259]");
  EXPECT_EQ(run(range(300, 400), 2), 0u);
  EXPECT_EQ(taken(),
            "R9 R9 R8 R7 R6 R5 R4 R3 "
            "S20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44 "
            "[300..699] R2");
  EXPECT_EQ(run(range(100, 160), 2), 32u);
  EXPECT_EQ(taken(), "R19 R18 R17 R16 R15 R14 R13 S2,3,4,5,6,7,8,9 [132..259]<1 R12");
  EXPECT_EQ(run(range(800, 400), 2), 0u);
  EXPECT_EQ(taken(),
            "R11 R10 R44 R43 R42 R41 R40 R39 R38 R37 R36 R35 R34 R33 R32 R31 R30 R29 R28 R27 R26 "
            "R25 R24 R23 "
            "S45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65,66,67,68,69 "
            "[800..1199] R22");
  EXPECT_EQ(run(range(2000, 87), 3), 0u);
  EXPECT_EQ(taken(), "R21 R20 R9 R8 R7 S70,71,72,73,74 [2000..2079]");
  EXPECT_EQ(run(range(2000, 87), 3), 80u);
  EXPECT_EQ(taken(), "R6");
  EXPECT_TRUE(model().reset_prefix_cache());
  EXPECT_EQ(run(range(100, 160), 2), 0u);
  EXPECT_EQ(taken(), "C S0,1,2,3,4,5,6,7,8,9 [100..259]");
  EXPECT_EQ(run(range(100, 160), 2), 144u);
  EXPECT_EQ(taken(), "S9 [244..259]<8");
}

TEST_F(ModelTest, RefusesToResetTheCacheWhileBlocksAreInUse) {
  add(range(0, 40), 3);
  step();
  EXPECT_FALSE(model().reset_prefix_cache());
  drain();
  EXPECT_TRUE(model().reset_prefix_cache());
  EXPECT_EQ(run(range(0, 40), 1), 0u);
}

}  // namespace
}  // namespace fairlead::engine_model
