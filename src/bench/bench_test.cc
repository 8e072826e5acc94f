#include "bench/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "base/check.h"
#include "base/clock.h"
#include "bench/server_testing.h"
#include "codec/json.h"

namespace fairlead::bench {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class Bench : public testing::Test {
 protected:
  base::Result<Results> run(BenchConfig config) {
    return loop_.block_on(measure(network_, std::move(config), 5));
  }
  void TearDown() override {
    loop_.block_on(first_.stop());
    loop_.block_on(second_.stop());
  }

  base::ManualClock clock_;
  rt::Loop loop_{clock_};
  net::MemoryNetwork network_{loop_, {.latency = 50us}};
  FakeServer first_{network_, 8000};
  FakeServer second_{network_, 8001};
};

TEST_F(Bench, ComparesTargetsInTurnsWithTheSameLoad) {
  second_.prefill = 50ms;
  const BenchConfig config{.compare = {"slow=http://127.0.0.1:8000,fast=http://127.0.0.1:8001"},
                           .prefixes = 10,
                           .repeats = 5};
  const auto results = run(config);
  ASSERT_TRUE(results.ok()) << results.error().describe();
  ASSERT_EQ(results->reports.size(), 2U);
  EXPECT_EQ(results->reports[0].requests, 50U);
  EXPECT_EQ(results->reports[1].requests, 50U);
  EXPECT_EQ(results->reports[0].repeats, 40U);
  EXPECT_NEAR(results->reports[1].ttft_repeat.p90_ms / results->reports[0].ttft_repeat.p90_ms, 0.5,
              0.01);
  const std::string text = render_text(config, *results);
  EXPECT_THAT(text, HasSubstr("10 system prompts, 5 times each"));
  EXPECT_THAT(text, HasSubstr("seed 5"));
  EXPECT_THAT(text, HasSubstr("0.50 x"));
}

TEST_F(Bench, AsksForTheModelThatTheTargetLists) {
  const auto results = run({.url = "http://127.0.0.1:8000", .prefixes = 1, .repeats = 2});
  ASSERT_TRUE(results.ok());
  EXPECT_EQ(codec::parse_json(first_.last_body())->find("model")->as_string(), "fake");
}

TEST_F(Bench, SplitsRequestsOverRoundsWithoutLosingOne) {
  for (const uint32_t rounds : {1U, 3U, 7U, 100U}) {
    const auto before = first_.requests();
    const auto results = run({.compare = {"a=http://127.0.0.1:8000,b=http://127.0.0.1:8001"},
                              .requests = 23,
                              .rounds = rounds});
    ASSERT_TRUE(results.ok());
    EXPECT_EQ(results->reports[0].requests, 23U) << rounds;
    EXPECT_EQ(first_.requests() - before, 23U) << rounds;
  }
}

TEST_F(Bench, TeachesWhatToDoWhereNobodyListens) {
  const auto results = run({.url = "http://127.0.0.1:9999"});
  ASSERT_FALSE(results.ok());
  EXPECT_THAT(results.error().describe(), HasSubstr("fairlead up"));
  EXPECT_THAT(results.error().describe(), HasSubstr("--url"));
}

std::string temporary_file(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + name;
  std::FILE* file = std::fopen(path.c_str(), "w");
  CHECK(file != nullptr, "the folder for temporary files can be written to");
  std::fputs(text.c_str(), file);
  std::fclose(file);
  return path;
}

TEST_F(Bench, ReplaysATraceAtItsTimes) {
  BenchConfig config{.url = "http://127.0.0.1:8000",
                     .workload = WorkloadKind::kMooncake,
                     .arrivals = workload::ArrivalKind::kTrace,
                     .rounds = 1,
                     .ttft_limit = 200ms};
  config.trace =
      temporary_file("bench_test_mooncake.jsonl",
                     R"({"timestamp":0,"input_length":9,"output_length":4,"hash_ids":[1]})"
                     "\n"
                     R"({"timestamp":60000,"input_length":9,"output_length":6,"hash_ids":[1]})"
                     "\n");
  const auto results = run(config);
  ASSERT_TRUE(results.ok()) << results.error().describe();
  EXPECT_EQ(results->reports[0].requests, 2U);
  EXPECT_NEAR(results->reports[0].busy_s, 60, 1);
  EXPECT_DOUBLE_EQ(results->reports[0].goodput->share, 1);
  EXPECT_EQ(codec::parse_json(first_.last_body())->find("max_tokens")->as_int(), 6);
  EXPECT_THAT(render_text(config, *results),
              HasSubstr("open loop, as recorded; TTFT within 200ms"));
}

TEST_F(Bench, NamesTheLineOfATraceThatIsNoTrace) {
  BenchConfig config{.url = "http://127.0.0.1:8000", .workload = WorkloadKind::kSharegpt};
  config.trace = temporary_file("bench_test_broken.json", "[\n{\"conversations\": oops}]");
  const auto results = run(config);
  ASSERT_FALSE(results.ok());
  EXPECT_THAT(results.error().describe(), HasSubstr("bench_test_broken.json: line 2: JSON"));
  config.trace = "/nonexistent/trace.json";
  EXPECT_THAT(run(config).error().describe(), HasSubstr("No such file"));
}

TEST_F(Bench, WarnsWhereTheClientWasTheBottleneck) {
  const BenchConfig config{.url = "http://127.0.0.1:8000", .prefixes = 2, .repeats = 20};
  const auto measured = [&](int percent) {
    const CpuClock cpu = [this, percent] {
      return CpuTimes{.used = clock_.now().time_since_epoch() * percent / 100};
    };
    return render_text(config, loop_.block_on(measure(network_, config, 5, cpu)).value());
  };
  EXPECT_THAT(measured(100), HasSubstr("warning: the client was the bottleneck"));
  EXPECT_THAT(measured(50), testing::Not(HasSubstr("warning")));
  EXPECT_THAT(measured(50), HasSubstr("client CPU"));
}

TEST_F(Bench, WritesOneJsonDocument) {
  const BenchConfig config{.url = "http://127.0.0.1:8000", .prefixes = 2, .repeats = 2};
  const auto results = run(config);
  ASSERT_TRUE(results.ok());
  const auto json = codec::parse_json(render_json(config, *results));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->find("seed")->as_int(), 5);
  EXPECT_EQ(json->find("config")->find("workload")->as_string(), "shared-prefix");
  EXPECT_EQ(json->find("reports")->items().size(), 1U);
  EXPECT_EQ(json->find("reports")->items()[0].find("requests")->as_int(), 4);
}

}  // namespace
}  // namespace fairlead::bench
