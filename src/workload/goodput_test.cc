#include "workload/goodput.h"

#include <gtest/gtest.h>

namespace fairlead::workload {
namespace {

using namespace std::chrono_literals;

// Eleven tokens: the first after 100 ms, the last after 300 ms.
Sample answered() {
  return {.first_token = 100ms, .last_token = 300ms, .whole = 301ms, .output_tokens = 11};
}

TEST(MeanItl, SpreadsTheTimeOverTheTokensAfterTheFirst) {
  EXPECT_EQ(mean_itl(answered()), 20ms);
  Sample one = answered();
  one.output_tokens = 1;
  EXPECT_EQ(mean_itl(one), std::nullopt);
  Sample whole = answered();  // not streamed
  whole.first_token = whole.last_token = 0ms;
  EXPECT_EQ(mean_itl(whole), std::nullopt);
}

TEST(Goodput, TakesAnAnswerAtTheLimitAndNoneOnePast) {
  EXPECT_TRUE(keeps({}, answered()));
  EXPECT_TRUE(keeps({.ttft = 100ms}, answered()));
  EXPECT_FALSE(keeps({.ttft = 100ms - 1ns}, answered()));
  EXPECT_TRUE(keeps({.itl = 20ms}, answered()));
  EXPECT_FALSE(keeps({.itl = 20ms - 1ns}, answered()));
  EXPECT_TRUE(keeps({.ttft = 100ms, .itl = 20ms}, answered()));
  EXPECT_FALSE(keeps({.ttft = 100ms, .itl = 19ms}, answered()));
  EXPECT_FALSE(keeps({.ttft = 99ms, .itl = 20ms}, answered()));
}

TEST(Goodput, NeedsAnAnswer) {
  Sample failed = answered();
  failed.outcome = Outcome::kStreamError;
  EXPECT_FALSE(keeps({}, failed));
  Sample silent = answered();
  silent.first_token = 0ms;
  EXPECT_FALSE(keeps({.ttft = 1h}, silent));
}

TEST(Goodput, HoldsAnAnswerOfOneTokenToItsTtftOnly) {
  Sample one = answered();
  one.output_tokens = 1;
  EXPECT_TRUE(keeps({.ttft = 100ms, .itl = 1ns}, one));
}

}  // namespace
}  // namespace fairlead::workload
