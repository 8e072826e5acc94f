// Policies of whole routers: what the scheduling file says, its reload, sessions, adapters.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <set>

#include "codec/json.h"
#include "router/check_config.h"
#include "router/testing/router_world.h"

namespace fairlead::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

std::string policy_scores(std::string_view list) {
  return fmt::format("scheduler:\n  plugins:\n    Score:\n      enabled: [{}]\n", list);
}

class RouterPolicies : public RouterTest {
 protected:
  ~RouterPolicies() override { std::remove(path_.c_str()); }

  void write(const std::string& text) const { std::ofstream(path_) << text; }
  void start_with_file(const std::string& text, int engines = 2) {
    write(text);
    for (int i = 1; i <= engines; ++i) engine(i);
    start({.config = path_, .allow_explain = true});
  }
  std::string explanation() {
    return ask({.body = chat("hi"), .fields = "x-fairlead-explain: 1\r\n"})
        .field("x-fairlead-explain");
  }
  // The engine that answers.
  size_t where(std::string fields, std::string body = chat("hi")) {
    std::vector<size_t> before;
    for (const FakeEngine& e : engines_) before.push_back(e.seen.size());
    EXPECT_EQ(ask({.body = std::move(body), .fields = std::move(fields)}).status, 200);
    for (size_t i = 0; i < engines_.size(); ++i) {
      if (engines_[i].seen.size() > before[i]) return i;
    }
    ADD_FAILURE() << "no engine was asked";
    return engines_.size();
  }

  const std::string path_ =
      testing::TempDir() +
      fmt::format("router_{}.yaml", testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(RouterPolicies, TheFileDecidesAndAChangeOfItIsTakenOver) {
  start_with_file(policy_scores("{name: gpu-usage, weight: 1}"));
  EXPECT_THAT(explanation(), HasSubstr(R"("gpu-usage":)"));
  EXPECT_THAT(explanation(), HasSubstr(R"("policy":"weighted")"));
  write(policy_scores("{name: least-request, weight: 3}, {name: prefix-cache}"));
  run_for(seconds(2));
  const std::string after = explanation();
  EXPECT_THAT(after, HasSubstr(R"("least-request":)"));
  EXPECT_THAT(after, HasSubstr(R"("prefix-cache":)"));
  EXPECT_THAT(after, testing::Not(HasSubstr("gpu-usage")));
  EXPECT_EQ(metric("fairlead_config_reloads_total"), 1);
  EXPECT_EQ(metric("fairlead_config_errors_total"), 0);
  EXPECT_EQ(metric("fairlead_config_current"), 1);
  run_for(seconds(60));
  EXPECT_EQ(metric("fairlead_config_reloads_total"), 1) << "it has not changed again";
}

TEST_F(RouterPolicies, AFileThatIsRefusedChangesNothingButMetrics) {
  start_with_file(policy_scores("{name: gpu-usage}"));
  for (const std::string& bad : {policy_scores("{name: random, weight: -1}"),
                                 std::string("scheduler: ["), std::string("scheduler: 7\n")}) {
    write(bad);
    run_for(seconds(2));
    EXPECT_THAT(explanation(), HasSubstr(R"("gpu-usage":)"));
    EXPECT_EQ(metric("fairlead_config_current"), 0);
  }
  std::remove(path_.c_str());
  run_for(seconds(20));
  EXPECT_EQ(metric("fairlead_config_errors_total"), 4) << "one for each, however often it is read";
  write(policy_scores("{name: random}"));
  run_for(seconds(2));
  EXPECT_THAT(explanation(), HasSubstr(R"("random":)"));
  EXPECT_EQ(metric("fairlead_config_current"), 1);
}

TEST_F(RouterPolicies, WhatIsUnknownIsCounted) {
  start_with_file(policy_scores("{name: gpu-usage}, {name: kvcache-aware, weight: 2}") +
                  "more: 1\n");
  EXPECT_EQ(metric("fairlead_config_warnings"), 2);
  EXPECT_THAT(explanation(), HasSubstr(R"("gpu-usage":)"));
  write(policy_scores("{name: gpu-usage}"));
  run_for(seconds(2));
  EXPECT_EQ(metric("fairlead_config_warnings"), 0);
}

TEST_F(RouterPolicies, AReloadUnderwayLosesNoRequest) {
  start_with_file(policy_scores("{name: prefix-cache}"));
  for (FakeEngine& e : engines_) {
    e.script = events(std::vector<std::string>(8, token_event("t")), seconds(1));
  }
  const Reply& stream = send(post(chat(std::string(1000, 'x'), R"("stream":true)")));
  run_for(seconds(2));
  write(policy_scores("{name: least-request}"));
  run_for(seconds(20));
  EXPECT_TRUE(stream.whole());
  EXPECT_EQ(metric("fairlead_config_reloads_total"), 1);
  // The fixture looks whether reservations are left.
}

TEST_F(RouterPolicies, TheFileThatCannotBeUsedEndsTheStartAndTheCheck) {
  write("scheduler:\n  plugins:\n    Score:\n      enabled: [{name: random, weight: heavy}]\n");
  const RouterConfig config{.backend = {url(1)}, .config = path_, .loops = 1};
  const auto router = Router::make(config, network_, log_, [](std::string_view) { return true; });
  ASSERT_FALSE(router);
  const auto check = check_config(config);
  ASSERT_FALSE(check);
  for (const base::Error& error : {router.error(), check.error()}) {
    EXPECT_THAT(error.describe(), HasSubstr(path_));
    EXPECT_THAT(error.describe(), HasSubstr("line 4: scheduler.plugins.Score.enabled[0].weight"));
  }
}

TEST_F(RouterPolicies, ACheckReadsAllFilesAndSaysWhatItFound) {
  write("backends: [\"http://a:1\", \"http://b:1\"]\n");
  EXPECT_EQ(check_config({.backends_file = path_})->backends, 2U);
  EXPECT_FALSE(check_config({.backends_file = path_ + "x"}));
  write("extra: 1\n");
  EXPECT_FALSE(check_config({.backends_file = path_}));
  const auto check = check_config({.backend = {url(1)}, .config = path_});
  ASSERT_TRUE(check);
  EXPECT_EQ(check->backends, 1U);
  ASSERT_EQ(check->warnings.size(), 1U);
  EXPECT_THAT(check->warnings[0], HasSubstr("line 1: extra"));
}

TEST_F(RouterPolicies, LeastRequestRefusesWithRetryAfterWhereAllQueuesAreLong) {
  start_with_file("scheduler: {plugins: {Filter: {enabled: [least-request]}}}\n", 1);
  EXPECT_EQ(ask(chat("hi")).status, 200);
  engines_[0].waiting = 10;
  run_for(seconds(3));
  const Reply& refused = ask(chat("hi"));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.field("retry-after"), "1");
}

class RouterLearns : public RouterTest {
 protected:
  // Of two replicas one needs fifty times as long for a token.
  void expect_slow_one_is_left(bool streams) {
    for (const base::Nanos token : {milliseconds(250), milliseconds(5)}) {
      FakeEngine& e = engine(static_cast<int>(engines_.size()) + 1);
      if (streams) {
        e.script = events({token_event("a"), token_event("b")}, token);
      } else {
        e.script = answer(200, R"({"usage":{"prompt_tokens":20,"completion_tokens":4}})");
        e.script.steps.front().wait = 4 * token;
      }
    }
    start({.policy = "expected-ttft"});
    for (int i = 0; i < 60; ++i) {
      const std::string_view how = streams ? R"("stream":true)" : R"("stream":false)";
      ASSERT_EQ(ask(chat(fmt::format("{}", i), how)).status, 200);
    }
    EXPECT_LE(engines_[0].seen.size(), 20U);
    EXPECT_GE(engines_[0].seen.size(), 1U) << "it must be known first";
    EXPECT_GE(engines_[1].seen.size(), 40U);
  }
};

TEST_F(RouterLearns, FromFirstTokensWhichReplicaIsSlow) { expect_slow_one_is_left(true); }

TEST_F(RouterLearns, FromAnswersInOnePieceWhichReplicaIsSlow) { expect_slow_one_is_left(false); }

TEST_F(RouterPolicies, ASessionStaysWithItsReplica) {
  for (int i = 1; i <= 4; ++i) engine(i);
  start({.policy = "session-affinity"});
  std::set<size_t> homes;
  for (int session = 0; session < 20; ++session) {
    const std::string field = fmt::format("x-session-id: user-{}\r\n", session);
    const size_t home = where(field);
    homes.insert(home);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(where(field), home) << session;
  }
  EXPECT_EQ(homes.size(), 4U);
}

TEST_F(RouterPolicies, TheSessionsHeaderMayHaveAnotherName) {
  for (int i = 1; i <= 4; ++i) engine(i);
  start({.policy = "session-affinity", .session_header = "X-User"});
  const size_t home = where("x-user: 7\r\n");
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(where("x-user: 7\r\nX-Session-ID: " + fmt::to_string(i) + "\r\n"), home);
}

TEST_F(RouterPolicies, ASessionLeavesAReplicaThatDiesAndReturnsWithIt) {
  for (int i = 1; i <= 3; ++i) engine(i);
  start({.policy = "session-affinity"});
  const std::string field = "X-Session-ID: a\r\n";
  const size_t home = where(field);
  engines_[home].kill();
  run_for(seconds(5));
  const size_t second = where(field);
  EXPECT_NE(second, home);
  EXPECT_EQ(where(field), second);
  engines_[home].start();
  run_for(seconds(30));
  EXPECT_EQ(where(field), home);
}

// The filter `lora-affinity` of the file is always on.
TEST_F(RouterPolicies, AnAdapterIsServedWhereItIsListed) {
  engine(1);
  engine(2, {"llama", "sql-lora"});
  engine(3);
  write("scheduler: {plugins: {Filter: {enabled: [lora-affinity]}, Score: {enabled: []}}}\n");
  start({.config = path_});
  EXPECT_EQ(metric("fairlead_config_warnings"), 0);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(where("", R"({"model":"sql-lora","prompt":"hi"})"), 1U);
  std::set<size_t> base_model;
  for (int i = 0; i < 12; ++i) base_model.insert(where(""));
  EXPECT_EQ(base_model.size(), 3U) << "the base model is served everywhere";
}

}  // namespace
}  // namespace fairlead::router
