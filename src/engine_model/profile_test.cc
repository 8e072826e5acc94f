#include "engine_model/profile.h"

#include <cmath>

#include <gtest/gtest.h>

#include "engine_model/fit.h"

namespace fairlead::engine_model {
namespace {

TEST(Profile, FitsItsPublishedFiguresWithin15Percent) {
  for (const Profile& profile : builtin_profiles()) {
    ASSERT_FALSE(profile.figures.empty()) << profile.name;
    for (const Fit& f : fit(profile)) {
      EXPECT_LE(std::abs(f.error), 0.15)
          << profile.name << ": " << f.figure->source << ": published " << f.figure->value
          << ", modelled " << f.modelled;
      EXPECT_FALSE(f.figure->source.empty());
    }
  }
}

TEST(Profile, IsFoundByName) {
  ASSERT_NE(find_profile("rtx3060-qwen3-0.6b"), nullptr);
  ASSERT_NE(find_profile("h100-8b"), nullptr);
  EXPECT_EQ(find_profile("h100-8b")->name, "h100-8b");
  ASSERT_NE(find_profile("h100x4-70b"), nullptr);
  EXPECT_EQ(find_profile("h100"), nullptr);
}

TEST(StepTime, OfDecodeIsBoundByBandwidth) {
  const Profile& p = *find_profile("h100-8b");
  const auto one = step_time(p, {.tokens = 1, .decode_context = 1});
  const auto sixteen = step_time(p, {.tokens = 16, .decode_context = 16});
  EXPECT_LT(sixteen, one * 1.01);
  const auto long_contexts = step_time(p, {.tokens = 16, .decode_context = 16 * 8192});
  EXPECT_GT(long_contexts, one * 1.5);
}

TEST(StepTime, OfPrefillGrowsWithTokensAndTheirContext) {
  const Profile& p = *find_profile("h100-8b");
  const auto half = step_time(p, {.tokens = 1024, .prefill_context = 1024.0 * 512});
  const auto whole = step_time(p, {.tokens = 2048, .prefill_context = 2048.0 * 1024});
  EXPECT_GT(whole, half * 1.9);
  const auto far = step_time(p, {.tokens = 2048, .prefill_context = 2048.0 * 100'000});
  EXPECT_GT(far, whole * 2);
}

TEST(Profile, SizesTheKvCacheByBlocks) {
  const Profile& p = *find_profile("h100-8b");
  EXPECT_EQ(num_gpu_blocks(p, 16), 26'988u);
  EXPECT_EQ(num_gpu_blocks(p, 32), 13'494u);
  EXPECT_EQ(num_gpu_blocks(*find_profile("h100x4-70b"), 16), 461'376u / 16);
  Profile tiny = p;
  tiny.kv_cache = base::Bytes(0);
  EXPECT_EQ(num_gpu_blocks(tiny, 16), 2u);
}

}  // namespace
}  // namespace fairlead::engine_model
