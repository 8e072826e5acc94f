// Replicas that are left out because their answers fail, and how they come back, end to end in
// virtual time.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "router/testing/router_world.h"

namespace fairlead::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;
using Then = Script::Then;
using End = Reply::End;

class RouterBreaker : public RouterTest {
 protected:
  void start_two(RouterConfig config = {}) {
    a_ = &engine(1);
    b_ = &engine(2);
    a_->script = b_->script = answer(200, "good");
    config.policy = "round-robin";
    start(std::move(config));
  }
  // How many of so many requests came to `a`; all must be answered well.
  size_t asked_of_a(int requests) {
    const size_t before = a_->seen.size();
    for (int i = 0; i < requests; ++i) EXPECT_EQ(ask(chat("hi")).status, 200) << i;
    return a_->seen.size() - before;
  }
  double of_a(std::string_view name, std::string_view more = {}) const {
    return metric(fmt::format(R"(fairlead_backend_{}{{backend="10.0.0.1:8000"{}}})", name, more));
  }
  double breaker_of_a(std::string_view state) const {
    return of_a("breaker_state", fmt::format(R"(,state="{}")", state));
  }

  FakeEngine* a_ = nullptr;
  FakeEngine* b_ = nullptr;
};

TEST_F(RouterBreaker, AReplicaThatFailsIsLeftOutThenTriedThenUsedAgain) {
  start_two();
  a_->script = answer(500, "bad");
  EXPECT_EQ(asked_of_a(20), 5U);
  EXPECT_EQ(breaker_of_a("open"), 1);
  run_for(milliseconds(4'900));
  EXPECT_EQ(asked_of_a(20), 0U);
  run_for(milliseconds(300));
  EXPECT_EQ(breaker_of_a("half_open"), 1);
  EXPECT_EQ(asked_of_a(20), 1U) << "one failed trial is enough, and costs no client anything";
  a_->script = answer(200, "good again");
  run_for(milliseconds(9'800));
  EXPECT_EQ(asked_of_a(20), 0U) << "twice as long";
  run_for(milliseconds(400));
  EXPECT_GE(asked_of_a(20), 3U);
  run_for(milliseconds(200));
  EXPECT_EQ(breaker_of_a("closed"), 1);
  EXPECT_EQ(of_a("ejections_total", R"(,reason="failures")"), 1);
  EXPECT_EQ(of_a("ejections_total", R"(,reason="trial")"), 1);
}

TEST_F(RouterBreaker, AReplicaOnTrialHasThreeRequestsAtATime) {
  start_two();
  a_->script = raw("", Then::kReset);
  asked_of_a(20);
  a_->script = answer(200, "slow");
  a_->script.steps[0].wait = seconds(2);
  b_->script = a_->script;
  run_for(milliseconds(5'300));
  ASSERT_EQ(breaker_of_a("half_open"), 1);
  for (int i = 0; i < 40; ++i) send(post(chat("hi")));
  run_for(milliseconds(100));
  EXPECT_EQ(a_->active(), 3U);
  EXPECT_EQ(b_->active(), 37U);
  run_for(seconds(3));
  EXPECT_EQ(breaker_of_a("closed"), 1);
}

TEST_F(RouterBreaker, LongAnswersAndTimeOutsOpenNoBreaker) {
  start_two({.first_byte_timeout = seconds(2), .chunk_timeout = seconds(2)});
  a_->script = b_->script = Script{.steps = {}, .then = Then::kHang};
  for (int i = 0; i < 20; ++i) send(post(chat("hi")));
  run_for(seconds(3));
  for (const Reply& reply : replies_) EXPECT_EQ(reply.status, 504);
  a_->script = b_->script = broken_events({token_event("a")}, milliseconds(1), Then::kHang);
  for (int i = 0; i < 20; ++i) send(post(kStreaming));
  run_for(seconds(3));
  EXPECT_EQ(unanswered(), 0U);
  EXPECT_EQ(of_a("state", R"(,state="ready")"), 1);
  EXPECT_EQ(breaker_of_a("closed"), 1);
}

TEST_F(RouterBreaker, EnginesRefusalsOpenNoBreaker) {
  start_two();
  a_->script = answer(429, "later");
  for (int i = 0; i < 40; ++i) ask(chat("hi"));
  EXPECT_EQ(breaker_of_a("closed"), 1);
  EXPECT_EQ(a_->seen.size(), 20U);
}

TEST_F(RouterBreaker, ClientsThatLeaveOpenNoBreaker) {
  start_two();
  a_->script = b_->script = Script{.steps = {}, .then = Then::kHang};
  for (int i = 0; i < 40; ++i) send({.body = chat("hi"), .leave_at = now() + milliseconds(10 + i)});
  run_for(seconds(1));
  EXPECT_EQ(breaker_of_a("closed"), 1);
  EXPECT_EQ(of_a("state", R"(,state="ready")"), 1);
}

TEST_F(RouterBreaker, WhenAllReplicasFailAllStayInUse) {
  start_two();
  a_->script = b_->script = answer(503, "overloaded");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(chat("hi")).status, 503);
  EXPECT_EQ(breaker_of_a("open"), 1);
  EXPECT_EQ(of_a("spared"), 1);
  EXPECT_EQ(of_a("state", R"(,state="ready")"), 1);
  EXPECT_GE(a_->seen.size(), 9U) << "none was spared the work for the other to take it";
  a_->script = b_->script = answer(200, "good");
  EXPECT_GE(asked_of_a(10), 3U) << "no client waits for breakers to close";
}

TEST_F(RouterBreaker, TheOnlyReplicaIsNeverLeftOut) {
  FakeEngine& only = engine(1);
  only.script = raw("", Then::kReset);
  start();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(chat("hi")).status, 502);
  EXPECT_EQ(only.seen.size(), 20U);
  only.script = answer(200, "good");
  EXPECT_EQ(ask(chat("hi")).status, 200);
}

TEST_F(RouterBreaker, OneModelsFailuresDoNotMakeItsReplicasOutliersOfAnother) {
  FakeEngine& fails = engine(1, {"bad"});
  FakeEngine& fails_too = engine(2, {"bad"});
  engine(3, {"good"}).script = answer(200, "{}");
  int requests = 0;
  // Three of ten requests for the model fail, wherever they go: a poisoned prompt.
  fails.make = fails_too.make = [&requests](const FakeEngine::Seen&) {
    return ++requests % 10 < 3 ? answer(500, "bad") : answer(200, "{}");
  };
  start({.policy = "round-robin"});
  for (int i = 0; i < 200; ++i) {
    ask(R"({"model":"bad","prompt":"x"})");
    ask(R"({"model":"good","prompt":"x"})");
    run_for(milliseconds(20));
  }
  EXPECT_EQ(breaker_of_a("closed"), 1);
}

TEST_F(RouterBreaker, AReplicaThatBreaksItsStreamsIsAnOutlier) {
  start_two();
  const std::vector<std::string> tokens(5, token_event("t"));
  a_->script = broken_events(tokens, milliseconds(1), Then::kReset);
  b_->script = events(tokens, milliseconds(1));
  for (int i = 0; i < 60; ++i) ask(kStreaming);
  run_for(milliseconds(200));
  EXPECT_EQ(of_a("ejections_total", R"(,reason="outlier")"), 1);
  EXPECT_EQ(of_a("state", R"(,state="ejected")"), 1);
}

TEST_F(RouterBreaker, AReturningReplicasShareRampsOverTheSlowStart) {
  start_two({.slow_start = seconds(10)});
  EXPECT_EQ(asked_of_a(200), 100U) << "nobody returns at the start";
  a_->kill();
  run_for(seconds(4));
  EXPECT_EQ(asked_of_a(100), 0U);
  a_->start();
  while (of_a("state", R"(,state="ready")") == 0) run_for(milliseconds(10));
  // A share of a tenth, and half of that share, because it takes turns.
  EXPECT_LE(asked_of_a(400), 60U);
  run_for(milliseconds(4'600));
  EXPECT_THAT(asked_of_a(400), AllOf(Ge(60U), Le(150U)));
  run_for(seconds(6));
  EXPECT_EQ(asked_of_a(200), 100U);
}

TEST_F(RouterBreaker, WithoutASlowStartAReturningReplicaHasItsShareAtOnce) {
  start_two({.slow_start = seconds(0)});
  a_->kill();
  run_for(seconds(4));
  a_->start();
  while (of_a("state", R"(,state="ready")") == 0) run_for(milliseconds(10));
  EXPECT_EQ(asked_of_a(200), 100U);
}

TEST_F(RouterBreaker, ReplicasThatAllComeBackShareTheWork) {
  start_two();
  a_->kill();
  b_->kill();
  run_for(seconds(4));
  a_->start();
  b_->start();
  run_for(milliseconds(1'500));
  EXPECT_THAT(asked_of_a(100), AllOf(Ge(40U), Le(60U)));
}

TEST_F(RouterBreaker, TheExplanationSaysWhyAReplicaIsLeftOut) {
  start_two({.allow_explain = true});
  Ask explained = post(chat("hi"));
  explained.fields += "X-Fairlead-Explain: 1\r\n";
  EXPECT_THAT(ask(explained).field("x-fairlead-explain"), HasSubstr(R"("left_out":[])"));
  ask(chat("hi"));
  a_->script = answer(500, "bad");
  const Reply& moved = ask(explained);
  EXPECT_THAT(moved.field("x-fairlead-explain"), HasSubstr(R"("attempt":2)"));
  EXPECT_THAT(moved.field("x-fairlead-explain"),
              HasSubstr(R"("left_out":[{"replica":"10.0.0.1:8000","why":"tried"}])"));
  asked_of_a(20);
  EXPECT_THAT(ask(explained).field("x-fairlead-explain"),
              HasSubstr(R"("left_out":[{"replica":"10.0.0.1:8000","why":"ejected"}])"));
  a_->kill();
  run_for(seconds(3));
  EXPECT_THAT(ask(explained).field("x-fairlead-explain"),
              HasSubstr(R"("left_out":[{"replica":"10.0.0.1:8000","why":"down"}])"));
}

TEST_F(RouterBreaker, CountersStayRightWhenAReplicaGoesAndComesBackUnderItsRequests) {
  start_two();
  a_->script = b_->script =
      events(std::vector<std::string>(30, token_event("t")), milliseconds(100));
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 10; ++i) send(post(kStreaming));
    run_for(milliseconds(150));
    a_->kill();
    run_for(milliseconds(1));
    EXPECT_EQ(of_a("requests_in_flight"), 0) << "nothing of it is at the dead one any more";
    a_->start();
    run_for(milliseconds(700));
    const double at_b = metric(R"(fairlead_backend_requests_in_flight{backend="10.0.0.2:8000"})");
    EXPECT_EQ(static_cast<size_t>(at_b), b_->active());
  }
  run_for(seconds(10));
  expect_idle();
}

}  // namespace
}  // namespace fairlead::router
