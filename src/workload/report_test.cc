#include "workload/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/random.h"

namespace fairlead::workload {
namespace {

using base::Nanos;
using namespace std::chrono_literals;

Sample answered(uint32_t prefix, uint32_t replica, Nanos started, Nanos first_token = 10ms) {
  return {.prefix = prefix,
          .replica = replica,
          .started = started,
          .first_token = first_token,
          .whole = first_token + 100ms,
          .prompt_tokens = 100,
          .output_tokens = 8};
}

TEST(Report, IsAllZeroForAnEmptyRun) {
  const Report report = make_report("empty", RunLog{});
  EXPECT_EQ(report.requests, 0U);
  EXPECT_EQ(report.requests_per_s, 0);
  EXPECT_EQ(report.ttft.count, 0U);
  EXPECT_FALSE(report.cached_ratio.has_value());
  EXPECT_FALSE(report.repeats_warm.has_value());
  EXPECT_EQ(report.share_max(), 0);
}

TEST(Report, TakesNearestRanks) {
  RunLog log;
  for (int i = 10; i >= 1; --i)
    log.samples.push_back(answered(kNoPrefix, kNoReplica, 0ns, Nanos(i * 1ms)));
  const Report report = make_report("ten", log);
  EXPECT_EQ(report.ttft.count, 10U);
  EXPECT_DOUBLE_EQ(report.ttft.p50_ms, 5);
  EXPECT_DOUBLE_EQ(report.ttft.p90_ms, 9);
  EXPECT_DOUBLE_EQ(report.ttft.p95_ms, 10);
  EXPECT_DOUBLE_EQ(report.ttft.p99_ms, 10);
  EXPECT_DOUBLE_EQ(report.ttft.max_ms, 10);
  EXPECT_DOUBLE_EQ(report.ttft.mean_ms, 5.5);
}

TEST(Report, SeparatesThe95thOfAHundredFromItsNeighbours) {
  RunLog log;
  for (int i = 1; i <= 100; ++i) {
    log.samples.push_back(answered(kNoPrefix, kNoReplica, 0ns, Nanos(i * 1ms)));
    log.gaps.add(i * 1ms);
  }
  const Report report = make_report("hundred", log);
  EXPECT_DOUBLE_EQ(report.ttft.p95_ms, 95);
  EXPECT_NEAR(report.gap.p95_ms, 95, 95 * 0.004);
  EXPECT_NEAR(report.gap.mean_ms, 50.5, 0.01);
}

TEST(Report, KeepsTheLargestPauseOfEachAnswer) {
  RunLog log;
  for (const Nanos pause : {20ms, 400ms, 30ms}) {
    Sample sample = answered(kNoPrefix, kNoReplica, 0ns);
    sample.last_token = sample.first_token + 500ms;
    sample.pause_max = pause;
    log.samples.push_back(sample);
  }
  log.samples.push_back(answered(kNoPrefix, kNoReplica, 0ns));  // a single token: no pause
  const Report report = make_report("run", log);
  EXPECT_EQ(report.pause.count, 3U);
  EXPECT_DOUBLE_EQ(report.pause.p50_ms, 30);
  EXPECT_DOUBLE_EQ(report.pause.max_ms, 400);
}

TEST(Report, CountsGoodputOfAllRequestsNotOnlyOfThoseAnswered) {
  RunLog log;
  log.busy = 2s;
  for (const Nanos first : {100ms, 500ms, 501ms}) {
    log.samples.push_back(answered(kNoPrefix, kNoReplica, 0ns, first));
  }
  log.samples.push_back(log.samples[0]);
  log.samples.back().outcome = Outcome::kReset;
  EXPECT_FALSE(make_report("no limits", log).goodput.has_value());
  const Report report = make_report("run", log, {.ttft = 500ms});
  ASSERT_TRUE(report.goodput.has_value());
  EXPECT_EQ(report.goodput->requests, 2U);
  EXPECT_DOUBLE_EQ(report.goodput->share, 0.5);
  EXPECT_DOUBLE_EQ(report.goodput->requests_per_s, 1);
}

TEST(Report, TellsWhetherTheClientWasTheBottleneck) {
  RunLog log;
  log.busy = 10s;
  EXPECT_FALSE(make_report("unmeasured", log).client.has_value());
  log.client = ClientUse{.cpu = 3s, .waiting = 1s, .saturated = 500ms};
  const auto at_bound = make_report("run", log).client.value();
  EXPECT_DOUBLE_EQ(at_bound.cpu, 0.3);
  EXPECT_DOUBLE_EQ(at_bound.waiting, 0.1);
  EXPECT_FALSE(at_bound.was_bottleneck());
  log.client->saturated += 1ms;
  EXPECT_TRUE(make_report("run", log).client->was_bottleneck());
  log.client = ClientUse{.cpu = 3s, .waiting = 1001ms, .saturated = 0s};
  EXPECT_TRUE(make_report("waited", log).client->was_bottleneck());
}

TEST(Report, CountsARepeatAsWarmOnAnyReplicaThatServedItsPrefix) {
  RunLog log;
  const auto a = log.replica_index("a");
  const auto b = log.replica_index("b");
  EXPECT_EQ(log.replica_index("a"), a);
  log.samples = {answered(1, a, 0ms), answered(1, b, 1ms),   // a second holder: cold
                 answered(1, b, 2ms), answered(1, a, 3ms),   // both warm
                 answered(2, b, 4ms), answered(2, a, 5ms)};  // first, then cold
  const Report report = make_report("run", log);
  EXPECT_EQ(report.repeats, 4U);
  EXPECT_DOUBLE_EQ(report.repeats_warm.value(), 0.5);
  EXPECT_EQ(report.ttft_first.count, 2U);
  EXPECT_EQ(report.ttft_repeat.count, 4U);
  EXPECT_DOUBLE_EQ(report.share_max(), 0.5);
}

TEST(Report, OrdersVisitsByTheirStartNotTheirEnd) {
  RunLog log;
  const auto a = log.replica_index("a");
  const auto b = log.replica_index("b");
  // Recorded as they ended: the visit that started last ended first.
  log.samples = {answered(1, a, 9ms), answered(1, b, 5ms), answered(1, a, 0ms)};
  EXPECT_DOUBLE_EQ(make_report("run", log).repeats_warm.value(), 0.5);
}

TEST(Report, SaysNothingOfWarmthWhereReplicasAreNotToldApart) {
  RunLog log;
  log.samples = {answered(1, kNoReplica, 0ms), answered(1, kNoReplica, 1ms)};
  const Report report = make_report("run", log);
  EXPECT_EQ(report.repeats, 1U);
  EXPECT_FALSE(report.repeats_warm.has_value());
  EXPECT_TRUE(report.replicas.empty());
}

TEST(Report, KeepsErrorsOutOfLatenciesAndTokens) {
  RunLog log;
  log.busy = 2s;
  log.samples.push_back(answered(kNoPrefix, log.replica_index("a"), 0ms));
  Sample refused = answered(kNoPrefix, kNoReplica, 0ms, 900ms);
  refused.outcome = Outcome::kHttpStatus;
  refused.status = 503;
  Sample late = refused;
  late.outcome = Outcome::kTimeout;
  log.samples.insert(log.samples.end(), {refused, refused, late});
  const Report report = make_report("run", log);
  EXPECT_EQ(report.requests, 4U);
  EXPECT_EQ(report.errors, 3U);
  EXPECT_EQ(report.errors_by_kind,
            (std::map<std::string, uint64_t>{{"http 503", 2}, {"timed out", 1}}));
  EXPECT_EQ(report.ttft.count, 1U);
  EXPECT_DOUBLE_EQ(report.ttft.max_ms, 10);
  EXPECT_EQ(report.output_tokens, 8U);
  EXPECT_DOUBLE_EQ(report.requests_per_s, 0.5);
  EXPECT_DOUBLE_EQ(report.output_tokens_per_s, 4);
}

TEST(Report, TakesSilenceAboutCachedTokensForNoneOnceAnyAnswerTells) {
  RunLog log;
  log.samples = {answered(1, 0, 0ms), answered(1, 0, 1ms), answered(1, 0, 2ms)};
  log.replicas = {"a"};
  EXPECT_FALSE(make_report("run", log).cached_ratio.has_value());
  log.samples[1].cached_tokens = 0;
  EXPECT_DOUBLE_EQ(make_report("run", log).cached_ratio.value(), 0);
  log.samples[2].cached_tokens = 90;
  EXPECT_DOUBLE_EQ(make_report("run", log).cached_ratio.value(), 0.3);
}

TEST(Report, ListsReplicasByNameWhateverTheOrderTheyWereSeenIn) {
  RunLog log;
  const auto late = log.replica_index("10.0.0.9:80");
  const auto early = log.replica_index("10.0.0.1:80");
  log.samples = {answered(1, late, 0ms), answered(1, early, 1ms), answered(1, late, 2ms)};
  const Report report = make_report("run", log);
  ASSERT_EQ(report.replicas.size(), 2U);
  EXPECT_EQ(report.replicas[0].name, "10.0.0.1:80");
  EXPECT_EQ(report.replicas[1].requests, 2U);
  EXPECT_NEAR(report.share_max(), 2.0 / 3, 1e-9);
}

// For random runs: counts add up, shares sum to one, and warmth agrees with a direct recount.
TEST(Report, HoldsItsInvariantsForRandomRuns) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    base::Random random(seed);
    RunLog log;
    const auto replicas = static_cast<uint32_t>(1 + random.below(5));
    for (uint32_t i = 0; i < replicas; ++i) log.replica_index("r" + std::to_string(i));
    const auto count = random.below(200);
    for (uint64_t i = 0; i < count; ++i) {
      auto sample = answered(static_cast<uint32_t>(random.below(12)),
                             static_cast<uint32_t>(random.below(replicas)),
                             Nanos(static_cast<int64_t>(i)), Nanos(1 + random.below(1'000'000)));
      if (random.below(10) == 0) sample.outcome = Outcome::kReset;
      if (random.below(10) == 0) sample.replica = kNoReplica;
      log.samples.push_back(sample);
    }
    uint64_t warm = 0;
    uint64_t repeats = 0;
    uint64_t reached = 0;
    std::set<uint32_t> prefixes;
    std::set<std::pair<uint32_t, uint32_t>> served;
    for (const auto& sample : log.samples) {
      repeats += prefixes.insert(sample.prefix).second ? 0 : 1;
      reached += sample.replica != kNoReplica ? 1 : 0;
      if (sample.replica == kNoReplica) continue;
      warm += served.insert({sample.prefix, sample.replica}).second ? 0 : 1;
    }
    // Samples may be recorded in any order.
    for (size_t i = log.samples.size(); i > 1; --i) {
      std::swap(log.samples[i - 1], log.samples[random.below(i)]);
    }
    const Report report = make_report("run", log);
    EXPECT_EQ(report.repeats, repeats) << seed;
    if (report.repeats_warm) {
      EXPECT_NEAR(*report.repeats_warm * static_cast<double>(repeats), static_cast<double>(warm),
                  1e-6)
          << seed;
    }
    uint64_t requests = 0;
    double shares = 0;
    for (const auto& replica : report.replicas) {
      requests += replica.requests;
      shares += replica.share;
    }
    EXPECT_EQ(requests, reached) << seed;
    if (reached > 0) EXPECT_NEAR(shares, 1, 1e-9) << seed;
    EXPECT_EQ(report.whole.count + report.errors, report.requests) << seed;
    EXPECT_EQ(report.ttft_first.count + report.ttft_repeat.count, report.ttft.count) << seed;
    EXPECT_LE(report.ttft.p50_ms, report.ttft.p90_ms);
    EXPECT_LE(report.ttft.p99_ms, report.ttft.max_ms);
  }
}

TEST(Report, WritesJsonThatReadsBack) {
  RunLog log;
  log.busy = 4s;
  log.samples = {answered(1, log.replica_index("a:1"), 0ms), answered(1, 0, 1ms, 30ms)};
  log.gaps.add(2ms);
  log.client = ClientUse{.cpu = 1s, .waiting = 0s, .saturated = 0s};
  std::string text;
  codec::JsonWriter json(text);
  write_json(json, make_report("with \"quotes\"", log, {.ttft = 20ms}));
  const auto parsed = codec::parse_json(text);
  ASSERT_TRUE(parsed.ok()) << text;
  EXPECT_EQ(parsed->find("label")->as_string(), "with \"quotes\"");
  EXPECT_EQ(parsed->find("requests")->as_int(), 2);
  EXPECT_TRUE(parsed->find("cached_ratio")->is_null());
  EXPECT_DOUBLE_EQ(parsed->find("repeats_warm")->as_double(), 1);
  EXPECT_DOUBLE_EQ(parsed->find("ttft_repeat_ms")->find("p90")->as_double(), 30);
  EXPECT_EQ(parsed->find("itl_ms")->find("count")->as_int(), 1);
  EXPECT_DOUBLE_EQ(parsed->find("goodput")->find("share")->as_double(), 0.5);
  EXPECT_DOUBLE_EQ(parsed->find("goodput")->find("ttft_limit_ms")->as_double(), 20);
  EXPECT_TRUE(parsed->find("goodput")->find("itl_limit_ms")->is_null());
  EXPECT_DOUBLE_EQ(parsed->find("client")->find("cpu_share")->as_double(), 0.25);
  EXPECT_EQ(parsed->find("replicas")->items()[0].find("name")->as_string(), "a:1");
}

}  // namespace
}  // namespace fairlead::workload
