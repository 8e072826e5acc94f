#include "bench/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "bench/bench.h"
#include "bench/server_testing.h"
#include "codec/json.h"

namespace fairlead::bench {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// A server that takes 50 ms of each request, one after another: 20 requests a second.
class SweepTest : public testing::Test {
 protected:
  SweepTest() {
    server_.serial = 50ms;
    server_.prefill = 0ms;
    server_.token_gap = 1ms;
  }
  base::Result<Results> run(BenchConfig config) {
    config.url = "http://127.0.0.1:8000";
    EXPECT_TRUE(validate(config).ok()) << validate(config).error().describe();
    return loop_.block_on(measure(network_, std::move(config), 5));
  }
  void TearDown() override { loop_.block_on(server_.stop()); }

  base::ManualClock clock_;
  rt::Loop loop_{clock_};
  net::MemoryNetwork network_{loop_, {.latency = 50us}};
  FakeServer server_{network_, 8000};
};

TEST_F(SweepTest, FindsTheHighestRateThatKeepsTheLimits) {
  const BenchConfig config{.workload = WorkloadKind::kRandom,
                           .arrivals = workload::ArrivalKind::kConstant,
                           .ttft_limit = 200ms,
                           .sweep = SweepOver::kRate};
  const auto results = run(config);
  ASSERT_TRUE(results.ok());
  ASSERT_EQ(results->sweeps.size(), 1U);
  ASSERT_TRUE(results->sweeps[0].best.has_value());
  EXPECT_NEAR(*results->sweeps[0].best, 20, 1);
  ASSERT_EQ(results->reports.size(), 1U);
  EXPECT_NEAR(results->reports[0].requests_per_s, *results->sweeps[0].best, 1);
  const std::string text = render_text(config, *results);
  EXPECT_THAT(text, HasSubstr("highest that kept the limits for 99 % of the requests"));
  EXPECT_THAT(text, HasSubstr("TTFT within 200ms"));
  EXPECT_THAT(text, HasSubstr("missed"));
  const auto json = codec::parse_json(render_json(config, *results));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->find("sweeps")->items()[0].find("trials")->items().size(),
            results->sweeps[0].trials.size());
}

TEST_F(SweepTest, FindsTheHighestConcurrency) {
  // A client waits for all others: n clients wait n x 50 ms.
  const auto results = run({.workload = WorkloadKind::kRandom,
                            .duration = 10s,
                            .ttft_limit = 310ms,
                            .sweep = SweepOver::kConcurrency,
                            .sweep_max = 64});
  ASSERT_TRUE(results.ok());
  EXPECT_EQ(results->sweeps[0].best, 6);
}

TEST_F(SweepTest, SaysWhereNothingKeepsTheLimits) {
  const BenchConfig config{.workload = WorkloadKind::kRandom,
                           .requests = 10,
                           .ttft_limit = 20ms,
                           .sweep = SweepOver::kRate};
  const auto results = run(config);
  ASSERT_TRUE(results.ok());
  EXPECT_EQ(results->sweeps[0].best, std::nullopt);
  EXPECT_EQ(results->sweeps[0].trials.size(), 1U);
  EXPECT_THAT(render_text(config, *results), HasSubstr("not even the lowest kept the limits"));
}

TEST_F(SweepTest, CountsErrorsAsMissed) {
  server_.manner = Manner::kBusy;
  const auto results = run({.workload = WorkloadKind::kRandom,
                            .requests = 10,
                            .ttft_limit = 1h,
                            .sweep = SweepOver::kConcurrency});
  ASSERT_TRUE(results.ok());
  EXPECT_EQ(results->sweeps[0].best, std::nullopt);
}

}  // namespace
}  // namespace fairlead::bench
