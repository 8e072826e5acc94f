// What bench/RESULTS.md says of expected-ttft, in small.
#include <gtest/gtest.h>

#include <array>

#include "simulate/comparison.h"

namespace fairlead::simulate {
namespace {

// Four engines whose caches together just hold 96 prefixes of 600 words (about 1,500 tokens), as in
// bench/peers/quality.py, and 24 clients.
constexpr uint32_t kEngines = 4;
constexpr uint32_t kPrefixes = 96;
constexpr uint32_t kPrefixTokens = 1'500;
constexpr uint32_t kQuestionTokens = 44;
constexpr uint32_t kBlockTokens = 16;
// Their share of the prefixes, and what six requests take beside.
constexpr uint32_t kEngineBlocks =
    kPrefixes / kEngines * ((kPrefixTokens + kQuestionTokens + kBlockTokens - 1) / kBlockTokens) +
    31;

double cached_ratio(std::string_view policy, double zipf, uint64_t seed, uint32_t engines,
                    uint32_t blocks) {
  Traffic traffic = make_prefix_traffic({.prefixes = kPrefixes,
                                         .prefix_tokens = kPrefixTokens,
                                         .zipf = zipf,
                                         .question = {kQuestionTokens, kQuestionTokens},
                                         .output = {8, 8}},
                                        1'200, seed);
  press(traffic);
  const auto log = run(traffic, **pick::Policy::make(policy, {}),
                       {.replicas = engines,
                        .profile = "rtx3060-qwen3-0.6b",
                        .kv_blocks = blocks,
                        .in_flight_max = 24,
                        .seed = seed});
  double prompt = 0;
  double cached = 0;
  for (const workload::Sample& s : log.samples) {
    prompt += s.prompt_tokens;
    cached += s.cached_tokens.value_or(0);
  }
  return cached / prompt;
}

TEST(ExpectedTtft, MakesFourCachesAsGoodAsOneOfTheirSize) {
  for (const double zipf : {1.0, 0.0}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const double oracle = cached_ratio("round-robin", zipf, seed, 1, kEngines * kEngineBlocks);
      EXPECT_GE(cached_ratio("expected-ttft", zipf, seed, kEngines, kEngineBlocks), oracle - 0.02)
          << "zipf " << zipf << " seed " << seed;
      EXPECT_LE(cached_ratio("round-robin", zipf, seed, kEngines, kEngineBlocks), oracle - 0.2)
          << "the comparison compares nothing";
    }
  }
}

TEST(ExpectedTtft, IsNowhereFarFromTheBestAndBetterOnMostTraffic) {
  constexpr std::array<std::string_view, 4> kPolicies{"round-robin", "least-request",
                                                      "prefix-cache", "expected-ttft"};
  int better = 0;
  for (const TrafficKind kind :
       {TrafficKind::kSharedPrompt, TrafficKind::kPrefixGroups, TrafficKind::kConversations,
        TrafficKind::kHotPrefix, TrafficKind::kRandom}) {
    const Workload workload{
        .name = std::string(to_string(kind)),
        .make = [kind](uint64_t seed) { return make_traffic(kind, 2'000, seed); },
        .warm_share = 0.4};
    const Standing s = standing(compare(workload, kPolicies, {.seeds = 2}), "expected-ttft");
    EXPECT_GE(s.goodput, 0.97) << workload.name;
    EXPECT_GE(s.ttft_p99, 0.9) << workload.name << ": of two short runs";
    better += s.ttft_p99 > 1 ? 1 : 0;
  }
  EXPECT_GE(better, 3);
}

}  // namespace
}  // namespace fairlead::simulate
