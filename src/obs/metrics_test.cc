#include "obs/metrics.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "obs/exposition.h"

namespace fairlead::obs {
namespace {

std::string exposed(const Registry& registry) {
  std::string text;
  registry.expose(text);
  return text;
}

std::string number(double value, Style style) {
  std::string out;
  append_number(out, value, style);
  return out;
}

TEST(Registry, SumsTheShardsAtTheScrape) {
  Registry registry({.shards = 3});
  Family& requests = registry.counter("fairlead_requests_total", "Requests.", {"model", "code"});
  requests.counter(0, {"m", "200"}).add();
  requests.counter(2, {"m", "200"}).add(4);
  requests.counter(1, {"m", "503"}).add();
  Family& open = registry.gauge("fairlead_open", "Open streams.");
  open.gauge(0).set(5);
  open.gauge(1).add(-2);
  EXPECT_EQ(exposed(registry),
            "# HELP fairlead_requests_total Requests.\n"
            "# TYPE fairlead_requests_total counter\n"
            "fairlead_requests_total{model=\"m\",code=\"200\"} 5\n"
            "fairlead_requests_total{model=\"m\",code=\"503\"} 1\n"
            "# HELP fairlead_open Open streams.\n"
            "# TYPE fairlead_open gauge\n"
            "fairlead_open 3\n");
}

TEST(Registry, PutsASampleOnABoundIntoThatBucketAndOnePastTheLastIntoInf) {
  Registry registry({.shards = 2});
  const double buckets[] = {0.5, 1};
  Family& times = registry.histogram("wait_seconds", "Waits.", buckets);
  times.histogram(0).observe(0.5);
  times.histogram(1).observe(0.75);
  times.histogram(1).observe_many(1.5, 2);
  EXPECT_EQ(exposed(registry),
            "# HELP wait_seconds Waits.\n"
            "# TYPE wait_seconds histogram\n"
            "wait_seconds_bucket{le=\"0.5\"} 1\n"
            "wait_seconds_bucket{le=\"1\"} 2\n"
            "wait_seconds_bucket{le=\"+Inf\"} 4\n"
            "wait_seconds_sum 4.25\n"
            "wait_seconds_count 4\n");
}

TEST(Registry, PrintsAsPythonsClientDoesInThatStyle) {
  Registry registry({.style = Style::kPython,
                     .created = base::WallTime(std::chrono::milliseconds(1795973858225))});
  registry.gauge("vllm:num_requests_running", "Running.", {"model_name", "engine"})
      .gauge(0, {"tiny", "0"})
      .set(3);
  registry.counter("vllm:generation_tokens_total", "Tokens.", {"model_name", "engine"})
      .counter(0, {"tiny", "0"})
      .add(74);
  const double buckets[] = {1, 2};
  registry.histogram("vllm:request_params_n", "N.", buckets, {"model_name", "engine"})
      .histogram(0, {"tiny", "0"})
      .observe(2);
  EXPECT_EQ(exposed(registry),
            "# HELP vllm:num_requests_running Running.\n"
            "# TYPE vllm:num_requests_running gauge\n"
            "vllm:num_requests_running{engine=\"0\",model_name=\"tiny\"} 3.0\n"
            "# HELP vllm:generation_tokens_total Tokens.\n"
            "# TYPE vllm:generation_tokens_total counter\n"
            "vllm:generation_tokens_total{engine=\"0\",model_name=\"tiny\"} 74.0\n"
            "# HELP vllm:generation_tokens_created Tokens.\n"
            "# TYPE vllm:generation_tokens_created gauge\n"
            "vllm:generation_tokens_created{engine=\"0\",model_name=\"tiny\"} 1.795973858225e+09\n"
            "# HELP vllm:request_params_n N.\n"
            "# TYPE vllm:request_params_n histogram\n"
            "vllm:request_params_n_bucket{engine=\"0\",le=\"1.0\",model_name=\"tiny\"} 0.0\n"
            "vllm:request_params_n_bucket{engine=\"0\",le=\"2.0\",model_name=\"tiny\"} 1.0\n"
            "vllm:request_params_n_bucket{engine=\"0\",le=\"+Inf\",model_name=\"tiny\"} 1.0\n"
            "vllm:request_params_n_count{engine=\"0\",model_name=\"tiny\"} 1.0\n"
            "vllm:request_params_n_sum{engine=\"0\",model_name=\"tiny\"} 2.0\n"
            "# HELP vllm:request_params_n_created N.\n"
            "# TYPE vllm:request_params_n_created gauge\n"
            "vllm:request_params_n_created{engine=\"0\",model_name=\"tiny\"} 1.795973858225e+09\n");
}

TEST(Exposition, PrintsNumbersAsEachStyleDoes) {
  EXPECT_EQ(number(1e6, Style::kPython), "1e+06");
  EXPECT_EQ(number(131072, Style::kPython), "131072.0");
  EXPECT_EQ(number(4674093056.0, Style::kPython), "4.674093056e+09");
  EXPECT_EQ(number(941006848, Style::kPython), "9.41006848e+08");
  EXPECT_EQ(number(1e10, Style::kPython), "1e+010");
  EXPECT_EQ(number(1e16, Style::kPython), "1e+16");
  EXPECT_EQ(number(10.07, Style::kPython), "10.07");
  EXPECT_EQ(number(-1234567, Style::kPython), "-1234567.0");
  EXPECT_EQ(number(10.07, Style::kPrometheus), "10.07");
  EXPECT_EQ(number(1e6, Style::kPrometheus), "1000000");
  EXPECT_EQ(number(-1, Style::kPrometheus), "-1");
  for (const Style style : {Style::kPython, Style::kPrometheus}) {
    EXPECT_EQ(number(std::numeric_limits<double>::infinity(), style), "+Inf");
    EXPECT_EQ(number(-std::numeric_limits<double>::infinity(), style), "-Inf");
    EXPECT_EQ(number(std::nan(""), style), "NaN");
  }
}

TEST(Registry, EscapesHelpAndLabelValues) {
  Registry registry;
  registry.gauge("g", "a \"b\" \\ c\nd", {"l"}).gauge(0, {"x\"y\\z\nw"}).set(1);
  EXPECT_EQ(exposed(registry),
            "# HELP g a \"b\" \\\\ c\\nd\n# TYPE g gauge\ng{l=\"x\\\"y\\\\z\\nw\"} 1\n");
}

TEST(Registry, CountsSeriesPastTheCapAsOther) {
  Registry registry({.series_max = 2});
  Family& family = registry.counter("c_total", "C.", {"model", "code"});
  for (const char* model : {"a", "b", "c", "d", "a"}) family.counter(0, {model, "200"}).add();
  EXPECT_EQ(exposed(registry),
            "# HELP c_total C.\n# TYPE c_total counter\n"
            "c_total{model=\"a\",code=\"200\"} 2\n"
            "c_total{model=\"b\",code=\"200\"} 1\n"
            "c_total{model=\"other\",code=\"other\"} 2\n");
  EXPECT_EQ(family.overflowed(), 2u);
}

TEST(Registry, TellsLabelValuesApartHoweverTheyAreCut) {
  Registry registry;
  Family& family = registry.counter("c_total", "C.", {"a", "b"});
  family.counter(0, {"x1:y", ""}).add();
  family.counter(0, {"x", "1:y"}).add();
  EXPECT_EQ(exposed(registry),
            "# HELP c_total C.\n# TYPE c_total counter\n"
            "c_total{a=\"x1:y\",b=\"\"} 1\nc_total{a=\"x\",b=\"1:y\"} 1\n");
}

TEST(Registry, ReusesARetiredSeriesFromZero) {
  Registry registry({.series_max = 1});
  Family& family = registry.counter("c_total", "C.", {"backend"});
  family.counter(0, {"a"}).add(7);
  family.retire({"a"});
  family.retire({"never"});
  EXPECT_EQ(exposed(registry), "# HELP c_total C.\n# TYPE c_total counter\n");
  family.counter(0, {"b"}).add();
  EXPECT_EQ(exposed(registry),
            "# HELP c_total C.\n# TYPE c_total counter\nc_total{backend=\"b\"} 1\n");
  EXPECT_EQ(family.overflowed(), 0u);
}

TEST(Registry, ReadsCallbacksWhenAsked) {
  Registry registry;
  double value = 1;
  registry.callback(MetricType::kGauge, "up", "Up.", {"backend"},
                    [&](Samples& samples) { samples.add({"a"}, value); });
  registry.callback(MetricType::kCounter, "drops_total", "Drops.", {},
                    [&](Samples& samples) { samples.add({}, 9); });
  value = 0;
  EXPECT_EQ(exposed(registry),
            "# HELP up Up.\n# TYPE up gauge\nup{backend=\"a\"} 0\n"
            "# HELP drops_total Drops.\n# TYPE drops_total counter\ndrops_total 9\n");
}

TEST(Registry, DescribesWhatWasRegistered) {
  Registry registry;
  const double buckets[] = {0.5, 1};
  registry.histogram("wait_seconds", "Waits.", buckets, {"model"});
  registry.callback(MetricType::kGauge, "up", "Up.", {"backend"}, [](Samples&) {});
  const std::vector<FamilyInfo> infos = registry.describe();
  ASSERT_EQ(infos.size(), 2u);
  EXPECT_EQ(infos[0].name, "wait_seconds");
  EXPECT_EQ(to_string(infos[0].type), "histogram");
  EXPECT_EQ(infos[0].help, "Waits.");
  EXPECT_EQ(infos[0].labels, LabelNames{"model"});
  EXPECT_EQ(infos[0].buckets, (std::vector{0.5, 1.0}));
  EXPECT_EQ(infos[1].name, "up");
  EXPECT_EQ(to_string(infos[1].type), "gauge");
  EXPECT_TRUE(infos[1].buckets.empty());
}

TEST(Registry, LosesNothingWhileShardsWriteSeriesAppearAndScrapesRun) {
  constexpr size_t kShards = 3, kRounds = 20'000;
  Registry registry({.shards = kShards});
  Family& family = registry.counter("c_total", "C.", {"k"});
  std::atomic<bool> done = false;
  std::thread scraper([&] {
    while (!done.load()) exposed(registry);
  });
  std::vector<std::thread> shards;
  for (size_t shard = 0; shard < kShards; ++shard) {
    shards.emplace_back([&, shard] {
      const Counter mine = family.counter(shard, {"same"});
      for (size_t i = 0; i < kRounds; ++i) {
        mine.add();
        if (i % 1000 == 0) family.counter(shard, {std::to_string(shard * kRounds + i)}).add();
      }
    });
  }
  for (std::thread& shard : shards) shard.join();
  done = true;
  scraper.join();
  EXPECT_NE(exposed(registry).find("c_total{k=\"same\"} 60000\n"), std::string::npos);
}

TEST(RegistryDeathTest, RefusesNamesThatPrometheusWould) {
  Registry registry;
  registry.gauge("g", "G.");
  EXPECT_DEATH(registry.gauge("g", "G."), "registered once");
  EXPECT_DEATH(registry.gauge("2g", "G."), "name");
  EXPECT_DEATH(registry.gauge("h", "H.", {"a-b"}), "label");
  EXPECT_DEATH(registry.counter("requests", "R."), "_total");
}

TEST(Registry, PassesPromtool) {
  if (std::system("command -v promtool >/dev/null 2>&1") != 0) GTEST_SKIP() << "no promtool here";
  Registry registry({.shards = 2});
  registry.counter("fairlead_requests_total", "Requests \\ answered.\nAll.", {"model"})
      .counter(1, {"a \"quoted\"\nname\\"})
      .add(3);
  registry.gauge("fairlead_open_streams", "Open streams.").gauge(0).set(-0.25);
  const double buckets[] = {0.001, 0.0025, 1, 1e6};
  registry.histogram("fairlead_wait_seconds", "Waits.", buckets, {"model"})
      .histogram(0, {"m"})
      .observe(0.002);
  FILE* promtool = ::popen("promtool check metrics", "w");
  ASSERT_NE(promtool, nullptr);
  const std::string text = exposed(registry);
  std::fwrite(text.data(), 1, text.size(), promtool);
  EXPECT_EQ(::pclose(promtool), 0) << text;
}

}  // namespace
}  // namespace fairlead::obs
