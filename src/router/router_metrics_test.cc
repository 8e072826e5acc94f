// The exposition of a router that has seen everything: refusals, retries, streams, clients that
// leave.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "router/testing/router_world.h"

namespace fairlead::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

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
  EXPECT_EQ(metric(R"(fairlead_requests_total{model="",code="404"})"), 2);
  EXPECT_EQ(metric(R"(fairlead_retries_total{reason="status"})"), 1);
  EXPECT_EQ(metric(R"(fairlead_requests_cancelled_total{reason="client_gone"})"), 1);
  EXPECT_EQ(metric(R"(fairlead_prompt_tokens_total{model="llama"})"), 70);
  EXPECT_EQ(metric(R"(fairlead_request_duration_seconds_count{model="llama"})"), 11);
  EXPECT_EQ(metric(R"(fairlead_backend_state{backend="10.0.0.1:8000",state="ready"})"), 1);
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
  router_->not_ready();
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
