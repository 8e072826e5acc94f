#include "workload/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::workload {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

Report run_called(std::string label) {
  Report report;
  report.label = std::move(label);
  report.requests = 200;
  report.requests_per_s = 10;
  report.output_tokens_per_s = 640;
  report.ttft = {.count = 200, .p50_ms = 40, .p90_ms = 210, .p99_ms = 300, .max_ms = 400};
  report.ttft_repeat = {.count = 160, .p50_ms = 30, .p90_ms = 200, .p99_ms = 300, .max_ms = 400};
  report.repeats = 160;
  report.repeats_warm = 0.75;
  report.replicas = {{"a:1", 100, 0.5}, {"b:1", 100, 0.5}};
  return report;
}

std::string line_of(const std::string& table, std::string_view start) {
  size_t at = 0;
  while (at < table.size()) {
    const size_t end = table.find('\n', at);
    const auto line = table.substr(at, end - at);
    if (line.starts_with(start)) return line;
    at = end + 1;
  }
  return "no line " + std::string(start);
}

TEST(Table, ShowsOneRunWithoutRatios) {
  const Report report = run_called("run");
  const auto table = render_table({&report, 1});
  EXPECT_THAT(table, Not(HasSubstr("ratio")));
  EXPECT_THAT(line_of(table, "  repeats p90"), EndsWith("200.0 ms"));
  EXPECT_THAT(line_of(table, "repeats to a warm replica"), EndsWith("75.0 %"));
  EXPECT_THAT(table, EndsWith("\n"));
}

TEST(Table, LeavesOutWhatWasNotMeasured) {
  const Report report = run_called("run");
  const auto table = render_table({&report, 1});
  EXPECT_THAT(table, Not(HasSubstr("ITL")));
  EXPECT_THAT(table, Not(HasSubstr("cached prompt tokens")));
}

TEST(Table, ShowsMeanAndPercentilesGoodputPauseAndClient) {
  Report report = run_called("run");
  report.ttft.mean_ms = 77;
  report.ttft.p95_ms = 250;
  report.pause = {.count = 5, .p50_ms = 20, .p99_ms = 30, .max_ms = 412};
  report.goodput = Goodput{.requests = 190, .share = 0.95, .requests_per_s = 9.5};
  report.client = ClientShare{.cpu = 0.25, .waiting = 0.01};
  const auto table = render_table({&report, 1});
  EXPECT_THAT(line_of(table, "TTFT mean"), EndsWith("77.0 ms"));
  EXPECT_THAT(line_of(table, "TTFT p95"), EndsWith("250.0 ms"));
  EXPECT_THAT(line_of(table, "largest pause max"), EndsWith("412.0 ms"));
  EXPECT_THAT(line_of(table, "goodput"), EndsWith("9.5 /s"));
  EXPECT_THAT(line_of(table, "  within limits"), EndsWith("95.0 %"));
  EXPECT_THAT(line_of(table, "client CPU"), EndsWith("25.0 %"));
}

TEST(Table, ShowsRatiosToTheFirstColumn) {
  Report reports[] = {run_called("round-robin"), run_called("prefix-cache")};
  reports[1].ttft_repeat.p90_ms = 50;
  reports[1].cached_ratio = 0.8;
  const auto table = render_table(reports);
  EXPECT_THAT(line_of(table, "  repeats p90"), EndsWith("0.25 x"));
  EXPECT_THAT(line_of(table, "cached prompt tokens"), HasSubstr("-  "));
  EXPECT_THAT(line_of(table, "cached prompt tokens"), EndsWith("80.0 %"));
}

TEST(Table, ListsErrorsByKindOverAllRuns) {
  Report reports[] = {run_called("a"), run_called("b")};
  reports[0].errors = 3;
  reports[0].errors_by_kind = {{"http 503", 3}};
  reports[1].errors = 1;
  reports[1].errors_by_kind = {{"timed out", 1}};
  const auto table = render_table(reports);
  EXPECT_THAT(line_of(table, "  http 503"), HasSubstr("3"));
  EXPECT_THAT(line_of(table, "  timed out"), HasSubstr("0"));
  EXPECT_THAT(line_of(table, "  timed out"), HasSubstr("1"));
}

TEST(Table, ShowsOnlyTheBusiestOfALargeFleet) {
  Report report = run_called("run");
  report.replicas.assign(8, {"r", 25, 0.125});
  EXPECT_THAT(render_table({&report, 1}), HasSubstr("replica 8"));
  report.replicas.assign(9, {"r", 22, 0.11});
  const auto table = render_table({&report, 1});
  EXPECT_THAT(table, HasSubstr("busiest replica"));
  EXPECT_THAT(table, Not(HasSubstr("replica 1")));
}

std::vector<std::string> missed(const std::vector<Check>& checks) {
  std::vector<std::string> claims;
  for (const auto& check : checks) {
    if (!check.passed) claims.push_back(check.claim);
  }
  return claims;
}

TEST(AffinityChecks, PassAtTheLimitsAndMissOnePast) {
  const Report baseline = run_called("round-robin");
  Report candidate = run_called("prefix-cache");
  candidate.repeats_warm = 0.9;
  candidate.ttft_repeat.p90_ms = 100;
  candidate.replicas = {{"a:1", 120, 0.6}, {"b:1", 80, 0.4}};
  EXPECT_THAT(missed(affinity_checks(baseline, candidate)), testing::IsEmpty());
  candidate.repeats_warm = 0.899;
  candidate.ttft_repeat.p90_ms = 100.1;
  candidate.replicas[0].share = 0.601;
  candidate.errors = 1;
  EXPECT_EQ(missed(affinity_checks(baseline, candidate)).size(), 4U);
}

TEST(AffinityChecks, MissWhatWasNotMeasured) {
  EXPECT_EQ(missed(affinity_checks(Report{}, Report{})).size(), 4U);
}

TEST(OverloadChecks, MissAReplicaThatDrowns) {
  const Report baseline = run_called("round-robin");
  Report candidate = run_called("prefix-cache");
  EXPECT_THAT(missed(overload_checks(baseline, candidate)), testing::IsEmpty());
  candidate.replicas = {{"a:1", 200, 1.0}};
  candidate.ttft.p90_ms = baseline.ttft.p90_ms * 1.26;
  EXPECT_EQ(missed(overload_checks(baseline, candidate)).size(), 2U);
}

TEST(Verdict, ShowsWhatWasWantedAndWhatWasMissed) {
  const Check checks[] = {{"errors", "0", "none", true},
                          {"share", "70.0 %", "at most 60 %", false}};
  const auto text = render_checks(checks);
  EXPECT_THAT(line_of(text, "errors"), EndsWith("ok"));
  EXPECT_THAT(line_of(text, "share"), EndsWith("MISSED"));
  EXPECT_EQ(render_checks({}), "");
}

}  // namespace
}  // namespace fairlead::workload
