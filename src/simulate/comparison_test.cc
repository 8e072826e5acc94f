#include "simulate/comparison.h"

#include <gtest/gtest.h>

#include <array>

namespace fairlead::simulate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Measure, LeavesTheWarmUpOutAndCountsWhatIsOfUse) {
  const Workload workload{.ttft_limit = milliseconds(500), .gap_limit = milliseconds(50)};
  workload::RunLog log;
  const auto add = [&](int at, int ttft_ms, int gap_ms, uint32_t cached) {
    log.samples.push_back({.started = seconds(at),
                           .first_token = milliseconds(ttft_ms),
                           .whole = milliseconds(ttft_ms + 10 * gap_ms),
                           .prompt_tokens = 100,
                           .output_tokens = 11,
                           .cached_tokens = cached});
  };
  add(0, 10, 1, 100);   // warms up
  add(2, 500, 50, 80);  // at both limits
  add(5, 501, 50, 40);
  add(10, 20, 51, 0);
  add(11, 9'000, 1, 0);  // a later turn, when no new session comes
  const Traffic traffic{{.at = seconds(0)}, {.at = seconds(10)}, {.at = seconds(1), .follows = 1}};
  const Measured m = measure(log, traffic, workload);
  EXPECT_DOUBLE_EQ(m.cached_ratio, 0.4);
  EXPECT_DOUBLE_EQ(m.ttft_p50_ms, 500);
  EXPECT_DOUBLE_EQ(m.ttft_p99_ms, 501);
  EXPECT_DOUBLE_EQ(m.goodput, 1 / 8.0);
}

TEST(Standing, ComparesWithTheBestOfTheOthersInEach) {
  WorkloadTable table;
  table.rows = {
      {"a", {{.ttft_p99_ms = 100, .goodput = 9}, {.ttft_p99_ms = 120, .goodput = 9}}},
      {"b", {{.ttft_p99_ms = 150, .goodput = 12}, {.ttft_p99_ms = 180, .goodput = 12}}},
      {"ours", {{.ttft_p99_ms = 90, .goodput = 11}, {.ttft_p99_ms = 130, .goodput = 13}}}};
  const Standing s = standing(table, "ours");
  EXPECT_DOUBLE_EQ(s.goodput, 1);
  EXPECT_DOUBLE_EQ(s.ttft_p99, 1);
  EXPECT_EQ(s.seeds_won, 1u);
}

TEST(Compare, RunsEveryPolicyOnTheSameTrafficAndRepeatsItself) {
  const Workload workload{.name = "groups", .make = [](uint64_t seed) {
                            return make_traffic(TrafficKind::kPrefixGroups, 400, seed);
                          }};
  constexpr std::array<std::string_view, 2> kPolicies{"round-robin", "expected-ttft"};
  const ComparisonOptions options{.seeds = 2, .fleet = {.replicas = 2}};
  const WorkloadTable table = compare(workload, kPolicies, options);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_GT(mean(table.rows[1].seeds).cached_ratio, mean(table.rows[0].seeds).cached_ratio);
  EXPECT_EQ(render(table), render(compare(workload, kPolicies, options)));
}

}  // namespace
}  // namespace fairlead::simulate
