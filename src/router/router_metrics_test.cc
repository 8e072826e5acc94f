// The exposition of a router that has seen everything: refusals, retries, streams, clients that
// leave.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "router/testing/router_world.h"

namespace fairlead::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

class RouterExposition : public RouterTest {
 protected:
  void live() {
    engine(1);
    engine(2, {"llama", "a \"quoted\\\\\" model"});
    start({.policy = "round-robin", .loops = 2});
    engines_[0].next.push_back(answer(500, "bad"));
    const std::string usage = event(
        R"({"choices":[],"usage":{"prompt_tokens":7,"total_tokens":9,"completion_tokens":2}})");
    for (FakeEngine& e : engines_) e.script = events({token_event("a"), usage}, milliseconds(10));
    const std::string streaming = chat("hi", R"("stream":true)");
    for (size_t i = 0; i < 10; ++i) ask({.body = streaming, .shard = i % 2});
    ask(R"({"model":"a \"quoted\\\\\" model","prompt":"x"})");
    ask(R"({"model":"unknown","prompt":"x"})");
    ask(get("/nowhere"));
    ask({.body = streaming, .leave_at = now() + milliseconds(15)});
    run_for(seconds(2));
  }
};

TEST_F(RouterExposition, CountsWhatHappened) {
  live();
  EXPECT_EQ(metric(R"(fairlead_requests_total{model="llama",code="200"})"), 11);
  EXPECT_EQ(metric(R"(fairlead_requests_total{model="unknown",code="404"})"), 2);
  EXPECT_EQ(metric(R"(fairlead_retries_total{reason="status"})"), 1);
  EXPECT_EQ(metric(R"(fairlead_requests_cancelled_total{reason="client_gone"})"), 1);
  EXPECT_EQ(metric(R"(fairlead_prompt_tokens_total{model="llama"})"), 70);
  EXPECT_EQ(metric(R"(fairlead_request_duration_seconds_count{model="llama"})"), 11);
  EXPECT_EQ(metric(R"(fairlead_backend_state{backend="10.0.0.1:8000",state="ready"})"), 1);
}

// Labels of a request that a static back end answered.
std::string answered(std::string_view model, std::string_view path = "/v1/chat/completions") {
  return fmt::format(R"(model="{}",path="{}")", model, path);
}
constexpr std::string_view kStatic = R"(model_route="none",backend_type="static",)"
                                     R"(backend_name="none",upstream_model="llama")";
constexpr std::string_view kUnresolved = R"(model_route="none",backend_type="unresolved",)"
                                         R"(backend_name="none",upstream_model="none")";

TEST_F(RouterExposition, HasTheNamesAndLabelsThatDashboardsOfTheKthenaRouterRead) {
  live();
  const std::string chats = answered("llama");
  const std::string unknown = R"(model="unknown",path="/v1/chat/completions",status_code="404",)";
  const auto requests = [this](std::string_view labels) {
    return metric(fmt::format("kthena_router_requests_total{{{}}}", labels));
  };
  EXPECT_EQ(requests(fmt::format(R"({},status_code="200",error_type="successful_request",{})",
                                 chats, kStatic)),
            10);
  EXPECT_EQ(
      requests(fmt::format(R"({},status_code="200",error_type="client_gone",{})", chats, kStatic)),
      1);
  EXPECT_EQ(requests(fmt::format(R"({}error_type="route_not_found",{})", unknown, kUnresolved)), 1);
  EXPECT_EQ(requests(fmt::format(R"(model="unknown",path="other",status_code="404",)"
                                 R"(error_type="request_failed",{})",
                                 kUnresolved)),
            1);
  EXPECT_EQ(metric(fmt::format(
                R"(kthena_router_request_duration_seconds_count{{{},status_code="200",{}}})", chats,
                kStatic)),
            11);
  EXPECT_EQ(metric(fmt::format(R"(kthena_router_tokens_total{{{},token_type="output",{}}})", chats,
                               kStatic)),
            20);
  for (const char* name : {"prefill", "decode"}) {
    EXPECT_EQ(metric(fmt::format(
                  R"(kthena_router_request_{}_duration_seconds_count{{{},status_code="200"}})",
                  name, chats)),
              11);
  }
}

TEST_F(RouterExposition, TimesTheSchedulersPluginsInOnePickOf64) {
  engine(1);
  start({.policy = "prefix-cache"});
  const auto timed = [this](std::string_view labels) {
    return metric(
        fmt::format("kthena_router_scheduler_plugin_duration_seconds_count{{{}}}", labels));
  };
  for (int i = 0; i < 64; ++i) ask(chat("hi"));
  EXPECT_EQ(timed(R"(model="llama",plugin="health",type="filter")"), 1);
  EXPECT_GE(timed(R"(model="llama",plugin="prefix",type="score")"), 1);
  ask(chat("hi"));
  EXPECT_EQ(timed(R"(model="llama",plugin="health",type="filter")"), 2);
}

TEST_F(RouterExposition, SaysWhatBreakersDo) {
  FakeEngine& bad = engine(1);
  engine(2);
  start({.policy = "round-robin"});
  bad.script = answer(500, "bad");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask(chat("hi")).status, 200);
  const auto sample = [this](const char* name, const char* more = "") {
    return metric(fmt::format(R"(fairlead_backend_{}{{backend="10.0.0.1:8000"{}}})", name, more));
  };
  EXPECT_EQ(sample("breaker_state", R"(,state="open")"), 1);
  EXPECT_EQ(sample("breaker_state", R"(,state="closed")"), 0);
  EXPECT_EQ(sample("state", R"(,state="ejected")"), 1);
  EXPECT_EQ(sample("ejections_total", R"(,reason="failures")"), 1);
  EXPECT_EQ(sample("ejections_total", R"(,reason="trial")"), 0);
  EXPECT_EQ(sample("spared"), 0);
  EXPECT_EQ(sample("share"), 1);
}

TEST_F(RouterExposition, CountsRequestsWhileTheyAreHandled) {
  FakeEngine& a = engine(1);
  start();
  a.script = events({token_event("a"), token_event("b")}, seconds(1));
  send(post(chat("hi", R"("stream":true)")));
  run_for(milliseconds(1'500));
  const std::string upstream =
      fmt::format(R"(kthena_router_active_upstream_requests{{model_server="none",{}}})", kStatic);
  const std::string downstream = R"(kthena_router_active_downstream_requests{model="llama"})";
  for (const std::string& gauge :
       {upstream, downstream, std::string("kthena_router_active_requests")})
    EXPECT_EQ(metric(gauge), 1) << gauge;
  run_for(seconds(3));
  for (const std::string& gauge :
       {upstream, downstream, std::string("kthena_router_active_requests")})
    EXPECT_EQ(metric(gauge), 0) << gauge;
}

TEST_F(RouterExposition, TimesStreamsByToken) {
  FakeEngine& a = engine(1);
  start();
  a.script = events({token_event("a"), token_event("b"), token_event("c")}, milliseconds(30));
  ask(chat("hi", R"("stream":true)"));
  a.script = answer(200, "{}");
  ask(chat("hi"));
  EXPECT_EQ(metric(R"(fairlead_time_to_first_token_seconds_count{model="llama"})"), 1)
      << "an answer in one piece has no first token";
  EXPECT_EQ(metric(R"(fairlead_inter_token_latency_seconds_count{model="llama"})"), 2);
  EXPECT_NEAR(metric(R"(fairlead_inter_token_latency_seconds_sum{model="llama"})"), 0.06, 0.001);
}

TEST_F(RouterExposition, HasOneLabelForModelsThatDoNotExist) {
  engine(1);
  start();
  for (int i = 0; i < 100; ++i) ask(fmt::format(R"({{"model":"m{}","prompt":"x"}})", i));
  EXPECT_EQ(metric(R"(fairlead_requests_total{model="unknown",code="404"})"), 100);
  EXPECT_THAT(router_->exposition(), Not(HasSubstr("m99")));
}

TEST_F(RouterExposition, TellsSoManyModelsApartAndNoMore) {
  constexpr size_t kModels = ShardMetrics::kModelsMax + 1;
  std::vector<std::string> models;
  for (size_t i = 0; i < kModels; ++i) models.push_back(fmt::format("m{:03}", i));
  engine(1, models);
  start();
  for (const std::string& model : models) {
    ASSERT_EQ(ask(fmt::format(R"({{"model":"{}","prompt":"x"}})", model)).status, 200);
  }
  EXPECT_EQ(metric(R"(fairlead_requests_total{model="m499",code="200"})"), 1);
  EXPECT_EQ(metric(R"(fairlead_requests_total{model="other",code="200"})"), 1);
  EXPECT_THAT(router_->exposition(), Not(HasSubstr(models.back())));
}

TEST_F(RouterExposition, SaysHowMuchOfPromptsTheIndexExpected) {
  engine(1);
  start({.policy = "prefix-cache"});
  const std::string body = chat(std::string(4'000, 'x'));
  ask(body);
  ask(body);
  EXPECT_EQ(metric(R"(kthena_router_prefix_cache_match_ratio_bucket{model="llama",le="0"})"), 1);
  EXPECT_EQ(metric(R"(kthena_router_prefix_cache_match_ratio_count{model="llama"})"), 2);
  EXPECT_GT(metric(R"(kthena_router_prefix_cache_match_ratio_sum{model="llama"})"), 0.9);
  EXPECT_GT(metric("kthena_router_prefix_cache_entries"), 0);
}

// The table of docs/metrics.md.
std::string table_of(const std::vector<obs::FamilyInfo>& families) {
  std::string table = "| name | type | labels | what | buckets |\n|---|---|---|---|---|\n";
  for (const obs::FamilyInfo& family : families) {
    table +=
        fmt::format("| `{}` | {} | {} | {} | {} |\n", family.name, to_string(family.type),
                    fmt::join(family.labels, ", "), family.help, fmt::join(family.buckets, ", "));
  }
  return table;
}

TEST_F(RouterExposition, IsWhatTheDocumentSays) {
  engine(1);
  start();
  const std::string path = std::string(FAIRLEAD_SOURCE) + "/docs/metrics.md";
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  const std::string old = text.str();
  const size_t begin = old.find("| name |");
  const std::string made = old.substr(0, begin) + table_of(router_->describe_metrics());
  if (std::getenv("FAIRLEAD_UPDATE") != nullptr) std::ofstream(path) << made;
  EXPECT_EQ(old, made) << "FAIRLEAD_UPDATE=1 router_test --gtest_filter='*TheDocument*' writes it";
}

TEST_F(RouterExposition, HasAPortOfItsOwnWithHealthAndReadiness) {
  engine(1);
  start();
  const auto look = [this](const char* path) -> const Reply& {
    Ask request = get(path);
    request.shard = kMetricsPort;
    return ask(request);
  };
  const Reply& metrics = look("/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_THAT(metrics.field("content-type"), HasSubstr("version=0.0.4"));
  EXPECT_THAT(metrics.body, HasSubstr("# TYPE fairlead_requests_total counter\n"));
  EXPECT_EQ(look("/healthz").status, 200);
  EXPECT_EQ(look("/readyz").status, 200);
  EXPECT_EQ(look("/v1/models").status, 404);
  router_->drain().begin("test");
  EXPECT_EQ(look("/readyz").status, 503);
}

TEST_F(RouterExposition, PassesPromtool) {
  if (std::system("command -v promtool >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "promtool is not installed (Debian: apt-get install prometheus)";
  }
  live();
  const std::string path = testing::TempDir() + "router_metrics_test.txt";
  std::ofstream(path) << router_->exposition();
  std::FILE* tool = popen(("promtool check metrics <" + path + " 2>&1").c_str(), "r");
  ASSERT_NE(tool, nullptr);
  std::string said;
  char line[256];
  while (std::fgets(line, sizeof line, tool) != nullptr) said += line;
  EXPECT_EQ(WEXITSTATUS(pclose(tool)), 0) << said;
  EXPECT_EQ(said, "");
  std::remove(path.c_str());
}

}  // namespace
}  // namespace fairlead::router
