#include "protocol/metrics_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace fairlead::protocol {
namespace {

struct Found {
  size_t name;
  std::string labels;
  double value;
  bool operator==(const Found&) const = default;
};

std::vector<Found> scan(std::string_view text) {
  const std::string_view names[] = {"up", "up_total"};
  std::vector<Found> out;
  scan_metrics(text, names, [&](const MetricSample& sample) {
    out.push_back({sample.name, std::string(sample.labels), sample.value});
  });
  return out;
}

TEST(ScanMetrics, FindsWholeNamesWithAndWithoutLabels) {
  EXPECT_EQ(scan("# HELP up Up.\n# TYPE up gauge\nup 1\nups 9\nup_total{a=\"b\"} 2.5e3 1234\n"
                 "xup 1\nup{} +3"),
            (std::vector<Found>{{0, "", 1}, {1, "a=\"b\"", 2500}, {0, "", 3}}));
}

TEST(ScanMetrics, SkipsLinesThatMakeNoSense) {
  for (const char* line : {"up", "up ", "up x", "up{", "up{a=\"b\" 1", "up{a=\"b\"}", "up 1x",
                           "up{a=\"}\" 1", "\n\n\r\n", "up{a=\"\\"}) {
    EXPECT_TRUE(scan(line).empty()) << line;
  }
}

TEST(ScanMetrics, IsNotMisledByBracesAndQuotesInLabels) {
  EXPECT_EQ(scan("up{a=\"}\\\"\",b=\"{\"} 4\r\n"),
            (std::vector<Found>{{0, "a=\"}\\\"\",b=\"{\"", 4}}));
}

TEST(LabelValue, UnescapesAndTellsNamesApart) {
  const std::string_view labels = "xa=\"1\",a=\"q\\\"\\\\\\n\", b=\"\"";
  EXPECT_EQ(label_value(labels, "a"), "q\"\\\n");
  EXPECT_EQ(label_value(labels, "b"), "");
  EXPECT_EQ(label_value(labels, "c"), std::nullopt);
  EXPECT_EQ(label_value("a", "a"), std::nullopt);
  EXPECT_EQ(label_value("a=", "a"), std::nullopt);
  EXPECT_EQ(label_value("a=\"x", "a"), std::nullopt);
}

TEST(EngineLoad, AddsRanksUpAndAveragesTheirUsage) {
  const EngineLoad load = read_engine_load(
      "vllm:num_requests_running{engine=\"0\"} 3.0\nvllm:num_requests_running{engine=\"1\"} 4.0\n"
      "vllm:num_requests_waiting{engine=\"0\"} 1.0\n"
      "vllm:kv_cache_usage_perc{engine=\"0\"} 0.5\nvllm:kv_cache_usage_perc{engine=\"1\"} 1.0\n"
      "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"100\"} 1.0\n"
      "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"200\"} 1.0\n");
  EXPECT_EQ(load.running, 7);
  EXPECT_EQ(load.waiting, 1);
  EXPECT_EQ(load.cache_usage, 0.75);
  EXPECT_EQ(load.block_size, 16);
  EXPECT_EQ(load.blocks, 300);
  EXPECT_EQ(load.cache_hits, std::nullopt);
}

TEST(EngineLoad, LeavesOutCountsThatAreNone) {
  const auto blocks = [](std::string_view count) {
    const std::string line = "vllm:cache_config_info{block_size=\"" + std::string(count) +
                             "\",num_gpu_blocks=\"" + std::string(count) + "\"} 1.0\n";
    const EngineLoad load = read_engine_load(line + line);
    EXPECT_EQ(load.block_size.has_value(), load.blocks.has_value()) << count;
    return load.blocks;
  };
  EXPECT_EQ(blocks("0"), 0);
  EXPECT_EQ(blocks("1000000000000"), 2'000'000'000'000);
  for (const char* none :
       {"1000000000001", "7777777777777777778", "99999999999999999999", "-1", "16x", "None", ""}) {
    EXPECT_EQ(blocks(none), std::nullopt) << none;
  }
}

TEST(EngineLoad, ReadsOldNamesAndSglangs) {
  EXPECT_EQ(read_engine_load("vllm:gpu_cache_usage_perc{} 0.25\n").cache_usage, 0.25);
  const EngineLoad load = read_engine_load(
      "sglang:num_running_reqs{model_name=\"m\"} 2.0\nsglang:num_queue_reqs{model_name=\"m\"} 5.0\n"
      "sglang:token_usage{model_name=\"m\"} 0.125\n");
  EXPECT_EQ(load.running, 2);
  EXPECT_EQ(load.waiting, 5);
  EXPECT_EQ(load.cache_usage, 0.125);
}

TEST(EngineLoad, ReadsSumsAndCountsOfLatencies) {
  const EngineLoad load = read_engine_load(
      "vllm:time_to_first_token_seconds_bucket{le=\"+Inf\"} 9.0\n"
      "vllm:time_to_first_token_seconds_count{engine=\"0\"} 3.0\n"
      "vllm:time_to_first_token_seconds_sum{engine=\"0\"} 1.5\n"
      "vllm:time_to_first_token_seconds_count{engine=\"1\"} 1.0\n"
      "vllm:time_to_first_token_seconds_sum{engine=\"1\"} 0.5\n"
      "vllm:inter_token_latency_seconds_count 100.0\n"
      "vllm:inter_token_latency_seconds_sum 2.5\n");
  EXPECT_EQ(load.ttft_count, 4);
  EXPECT_EQ(load.ttft_seconds, 2);
  EXPECT_EQ(load.tpot_count, 100);
  EXPECT_EQ(load.tpot_seconds, 2.5);
  EXPECT_EQ(read_engine_load("sglang:time_to_first_token_seconds_sum 7\n").ttft_seconds, 7);
  EXPECT_EQ(read_engine_load("sglang:inter_token_latency_seconds_count 8\n").tpot_count, 8);
}

TEST(EngineLoad, StaysEmptyForWhatIsNotThere) {
  const EngineLoad load = read_engine_load("vllm:num_requests_running NaN\n<html>\n");
  EXPECT_EQ(load.running, std::nullopt);
  EXPECT_EQ(load.cache_usage, std::nullopt);
  EXPECT_EQ(load.blocks, std::nullopt);
}

}  // namespace
}  // namespace fairlead::protocol
