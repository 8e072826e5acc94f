// What a router does when engines or clients fail, end to end in virtual time: attempts that move,
// deadlines, answers that break off, clients that leave or stall.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "router/testing/router_world.h"

namespace fairlead::router {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::StartsWith;

using Then = Script::Then;
using End = Reply::End;

const std::string kErrorEvent = event(R"({"error":{"message":"boom","code":500}})");

Script hang() { return {.steps = {}, .then = Then::kHang}; }
Script after(base::Nanos wait, Script script) {
  script.steps.front().wait = wait;
  return script;
}

class RouterFault : public RouterTest {
 protected:
  using RouterTest::RouterTest;
  // Two replicas that take turns.
  void start_two(RouterConfig config = {}) {
    a_ = &engine(1);
    b_ = &engine(2);
    config.policy = "round-robin";
    start(config);
  }
  // One request for each of the two.
  std::vector<const Reply*> ask_both(const std::string& body = chat("hi")) {
    return {&ask(body), &ask(body)};
  }
  double retries() const {
    double total = 0;
    for (const char* reason : {"connect", "reset", "protocol", "status"}) {
      total += metric(fmt::format("fairlead_retries_total{{reason=\"{}\"}}", reason));
    }
    return total;
  }

  FakeEngine* a_ = nullptr;
  FakeEngine* b_ = nullptr;
};

// ---- before the first byte ----------------------------------------------------------------------

struct BadAnswer {
  const char* name;
  Script script;
};

class RouterRetry : public RouterFault, public testing::WithParamInterface<BadAnswer> {};

TEST_P(RouterRetry, MovesToAnotherReplica) {
  start_two();
  a_->script = GetParam().script;
  b_->script = answer(200, "good");
  for (const Reply* reply : ask_both(kStreaming)) {
    EXPECT_EQ(reply->status, 200);
    EXPECT_EQ(reply->body, "good");
    EXPECT_TRUE(reply->whole());
  }
  // A retry takes a turn as well, so that both requests may begin at the same replica.
  EXPECT_GE(a_->seen.size(), 1U);
  EXPECT_EQ(b_->seen.size(), 2U);
  EXPECT_EQ(retries(), a_->seen.size());
}

const std::string kEventHead = "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n";

INSTANTIATE_TEST_SUITE_P(
    All, RouterRetry,
    testing::ValuesIn(std::vector<BadAnswer>{
        {"Status500", answer(500, "bad")},
        {"Status502", answer(502, "bad")},
        {"Status503", answer(503, "bad", "Retry-After: 7\r\n")},
        {"Status504", answer(504, "bad")},
        {"ResetBeforeTheHead", raw("", Then::kReset)},
        {"ClosedBeforeTheHead", raw("", Then::kClose)},
        {"ResetWithinTheHead", raw("HTTP/1.1 200 OK\r\nServ", Then::kReset)},
        {"ClosedWithinTheHead", raw("HTTP/1.1 200 OK\r\nServ", Then::kClose)},
        {"ResetAfterTheHead", broken_events({}, milliseconds(0), Then::kReset)},
        {"ClosedAfterTheHead", broken_events({}, milliseconds(0), Then::kClose)},
        {"ClosedBeforeACountedBody", raw(answer_head(200, "Content-Length: 2\r\n"), Then::kClose)},
        {"ClosedWithinTheFirstEvent",
         raw(answer_head(200, kEventHead) + chunk("data: {\"cho"), Then::kClose)},
        {"ErrorAsFirstEvent", events({kErrorEvent})},
        {"ErrorAsFirstEventInParts",
         raw(answer_head(200, kEventHead) + chunk(kErrorEvent.substr(0, 9)) +
                 chunk(kErrorEvent.substr(9)),
             Then::kHang)},
        {"AnotherProtocol", raw("SSH-2.0-OpenSSH_9.2\r\n\r\n", Then::kHang)},
        {"BareLineFeeds", raw("HTTP/1.1 200 OK\nContent-Length: 2\n\n{}", Then::kHang)},
        {"TwoLengths",
         raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", Then::kHang)},
        {"LengthAndChunks",
         raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
             Then::kHang)},
        {"BrokenChunk", raw(answer_head(200, kEventHead) + "zz\r\n", Then::kHang)},
        {"EndlessHead", raw("HTTP/1.1 200 OK\r\nX: " + std::string(40'000, 'x'), Then::kHang)},
        {"AnUpgradeNobodyAskedFor",
         raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", Then::kHang)},
    }),
    [](const testing::TestParamInfo<BadAnswer>& param) { return param.param.name; });

TEST_F(RouterFault, AnEnginesRefusalIsAnAnswer) {
  start_two();
  for (const int status : {400, 401, 403, 404, 408, 409, 422, 429, 501}) {
    a_->seen.clear();
    b_->seen.clear();
    a_->script = answer(status, "no", "Retry-After: 7\r\n");
    const auto replies = ask_both();
    EXPECT_EQ(replies[0]->status + replies[1]->status, 200 + status);
    const Reply& refused = *replies[replies[0]->status == 200 ? 1 : 0];
    EXPECT_EQ(refused.body, "no");
    EXPECT_EQ(refused.field("retry-after"), "7");
    EXPECT_EQ(a_->seen.size(), 1U);
    EXPECT_EQ(b_->seen.size(), 1U);
  }
  EXPECT_EQ(retries(), 0);
}

TEST_F(RouterFault, AFirstEventThatBlamesTheRequestIsAnAnswer) {
  const std::string blame = event(R"({"error":{"message":"too long","code":400}})");
  start_two();
  a_->script = b_->script = events({blame});
  for (const Reply* reply : ask_both(kStreaming)) EXPECT_EQ(reply->body, blame + kDone);
  EXPECT_EQ(retries(), 0);
}

TEST_F(RouterFault, TheOnlyReplicasFailureIsPassedOn) {
  FakeEngine& a = engine(1);
  a.script = answer(500, "engine says why", "X-Custom: 1\r\n");
  start();
  const Reply& reply = ask(chat("hi"));
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(reply.body, "engine says why");
  EXPECT_EQ(reply.field("x-custom"), "1");
  EXPECT_EQ(a.seen.size(), 1U);
}

TEST_F(RouterFault, ARefusedConnectionMovesTheRequest) {
  start_two();
  a_->kill();
  for (const Reply* reply : ask_both()) {
    EXPECT_EQ(reply->status, 200);
    EXPECT_LE(reply->took(), milliseconds(2));
  }
}

TEST_F(RouterFault, WithoutAReplicaLeftTheAnswerIs503AndSaysWhenToComeBack) {
  FakeEngine& a = engine(1);
  start();
  a.kill();
  for (int i = 0; i < 3; ++i) {
    const Reply& reply = ask(chat("hi"));
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.field("retry-after"), "1");
    EXPECT_NE(reply.field("x-request-id"), "");
    run_for(seconds(2));  // suspect, then down
  }
  a.start();
  run_for(seconds(2));
  EXPECT_EQ(ask(chat("hi")).status, 200);
}

TEST_F(RouterFault, TriesThreeReplicasAndNoMore) {
  for (int i = 1; i <= 4; ++i) engine(i).script = raw("", Then::kReset);
  start();
  const Reply& reply = ask(chat("hi"));
  EXPECT_EQ(reply.status, 502);
  EXPECT_THAT(reply.body, HasSubstr("replica_failed"));
  size_t attempts = 0;
  for (const FakeEngine& e : engines_) {
    EXPECT_LE(e.seen.size(), 1U);
    attempts += e.seen.size();
  }
  EXPECT_EQ(attempts, 3U);
}

TEST_F(RouterFault, AQuietRouterMayRetryTenTimesASecond) {
  for (int i = 1; i <= 3; ++i) engine(i).script = answer(500, "bad");
  start();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(ask(chat("hi")).status, 500);
  EXPECT_EQ(retries(), 100);
  ask(chat("hi"));
  EXPECT_EQ(retries(), 100) << "one past the floor";
  run_for(seconds(11));
  ask(chat("hi"));
  EXPECT_EQ(retries(), 102);
}

TEST_F(RouterFault, ABusyRouterMayRetryAFifthOfItsRequests) {
  for (int i = 1; i <= 3; ++i) engine(i).script = answer(200, "{}");
  start();
  for (int i = 0; i < 900; ++i) ask(chat("hi"));
  for (FakeEngine& e : engines_) e.script = answer(500, "bad");
  for (int i = 0; i < 100; ++i) ask(chat("hi"));
  // Request k of those that fail may bring the total to a fifth of 900 + k.
  EXPECT_THAT(retries(), AllOf(Ge(196), Le(200)));
}

TEST_F(RouterFault, AShardMayRetryOnTheRequestsOfAllShards) {
  for (int i = 1; i <= 3; ++i) engine(i).script = answer(200, "{}");
  start({.loops = 2});
  for (int i = 0; i < 900; ++i) ask({.body = chat("hi"), .shard = 0});
  for (FakeEngine& e : engines_) e.script = answer(500, "bad");
  for (int i = 0; i < 110; ++i) ask({.body = chat("hi"), .shard = 1});
  EXPECT_THAT(retries(), AllOf(Ge(196), Le(202)));
  EXPECT_GT(metric("fairlead_retries_refused_total"), 0);
  EXPECT_LT(metric("fairlead_retries_left"), 1);
}

TEST_F(RouterFault, AConnectionThatTheEngineClosedMeanwhileIsReplacedByANewOne) {
  // The ends of the two pooled connections are under way when the next request is sent on one, and
  // still on the other when the first has been found out.
  FakeEngine& a = engine(1);
  start();
  const size_t connections_before = a.connections;
  for (const int late : {300, 250}) {
    Script script = answer(200, "{}");
    script.steps.push_back({.wait = microseconds(late), .bytes = ""});
    script.then = Then::kClose;
    a.next.push_back(script);
  }
  a.script = answer(200, "again");
  const Reply& first = send(post(chat("1")));
  const Reply& second = send(post(chat("2")));
  while (first.end == End::kPending || second.end == End::kPending) run_for(microseconds(10));
  const Reply& third = ask(chat("3"));
  EXPECT_EQ(third.status, 200);
  EXPECT_EQ(third.body, "again");
  EXPECT_EQ(a.connections - connections_before, 3U);
  EXPECT_EQ(metric("fairlead_upstream_failures_total{kind=\"reset\"}"), 0);
}

// ---- silence ------------------------------------------------------------------------------------

TEST_F(RouterFault, ASilentReplicasUnansweredRequestsMoveWithinThreeSeconds) {
  start_two();
  a_->script = after(seconds(20), answer(200, "late"));
  b_->script = answer(200, "good");
  // Wherever in the rhythm of probes, scrapes and lists of models it falls silent.
  for (int i = 0; i < 120; ++i) {
    const size_t asked_before = a_->seen.size();
    const Reply& one = send(post(chat("hi")));
    const Reply& two = send(post(chat("hi")));
    run_for(milliseconds(20));
    ASSERT_EQ(a_->seen.size(), asked_before + 1) << "the world of round " << i;
    const Reply& waiting = one.end == End::kPending ? one : two;
    ASSERT_EQ(waiting.end, End::kPending);
    const base::TimePoint silent_at = now();
    network_.freeze(a_->address());
    run_for(milliseconds(3'500));
    ASSERT_EQ(waiting.body, "good") << i;
    EXPECT_LE(waiting.done_at - silent_at, seconds(3)) << i;
    network_.thaw(a_->address());
    run_for(milliseconds(4'170));
  }
}

TEST_F(RouterFault, AReplicaThatFallsSilentJustAsItIsProbedIsFoundOutAsSoon) {
  start_two();
  a_->script = after(seconds(20), answer(200, "late"));
  b_->script = answer(200, "good");
  for (const char* probe : {"GET /health ", "GET /v1/models ", "GET /metrics "}) {
    const Reply& one = send(post(chat("hi")));
    const Reply& two = send(post(chat("hi")));
    run_for(milliseconds(20));
    const Reply& waiting = one.end == End::kPending ? one : two;
    ASSERT_EQ(waiting.end, End::kPending);
    a_->probe_heads.assign(1, "");
    while (!a_->probe_heads.back().starts_with(probe)) run_for(microseconds(20));
    const base::TimePoint silent_at = now();
    network_.freeze(a_->address());
    run_for(milliseconds(3'500));
    EXPECT_EQ(waiting.body, "good") << probe;
    EXPECT_LE(waiting.done_at - silent_at, seconds(3)) << probe;
    network_.thaw(a_->address());
    run_for(seconds(5));
  }
}

TEST_F(RouterFault, ARequestToAReplicaThatIsSilentAlreadyMovesAsWell) {
  start_two();
  network_.freeze(a_->address());
  const base::TimePoint silent_at = now();
  const Reply& one = send(post(chat("hi")));
  const Reply& two = send(post(chat("hi")));
  run_for(seconds(3));
  EXPECT_EQ(one.status, 200);
  EXPECT_EQ(two.status, 200);
  EXPECT_LE(std::max(one.done_at, two.done_at) - silent_at, seconds(3));
  network_.thaw(a_->address());
}

TEST_F(RouterFault, TheStreamsOfASilentReplicaMayGoOnUntilTheyWereSilentForTheirTime) {
  start_two();
  const std::vector<std::string> tokens(100, token_event("t"));
  a_->script = b_->script = events(tokens, milliseconds(100));
  const Reply& one = send(post(kStreaming));
  const Reply& two = send(post(kStreaming));
  run_for(seconds(2));
  network_.freeze(a_->address());
  run_for(seconds(58));
  const Reply& cut = one.whole() ? two : one;
  EXPECT_EQ(unanswered(), 1U);
  run_for(seconds(3));
  EXPECT_TRUE(cut.whole());
  EXPECT_THAT(cut.body, HasSubstr("\"error\""));
  EXPECT_THAT(cut.body, EndsWith(kDone));
  network_.thaw(a_->address());
}

TEST_F(RouterFault, AStreamSurvivesASilenceOfItsReplica) {
  start_two();
  const std::vector<std::string> tokens(100, token_event("t"));
  a_->script = b_->script = events(tokens, milliseconds(100));
  send(post(kStreaming));
  send(post(kStreaming));
  run_for(seconds(2));
  network_.freeze(a_->address());
  run_for(seconds(50));
  network_.thaw(a_->address());
  run_for(seconds(10));
  for (const Reply& reply : replies_) {
    EXPECT_TRUE(reply.whole());
    EXPECT_EQ(reply.pieces.size() > 50, true);
    EXPECT_EQ(reply.body.find("error"), std::string::npos);
  }
}

TEST_F(RouterFault, AReplicaThatMissesProbesWhileItsStreamsFlowIsBusyNotDead) {
  start_two();
  a_->script = b_->script = events(std::vector<std::string>(40, token_event("t")), seconds(1));
  send(post(kStreaming));
  send(post(kStreaming));
  run_for(milliseconds(1'500));
  a_->script = b_->script = after(seconds(20), answer(200, "slow"));
  const Reply& one = send(post(chat("hi")));
  const Reply& two = send(post(chat("hi")));
  run_for(milliseconds(10));
  a_->probe_delay = b_->probe_delay = hours(1);
  run_for(seconds(21));
  EXPECT_EQ(one.body, "slow");
  EXPECT_EQ(two.body, "slow");
  EXPECT_EQ(a_->seen.size() + b_->seen.size(), 4U) << "nothing moved";
  a_->probe_delay = b_->probe_delay = seconds(0);
}

// ---- deadlines ----------------------------------------------------------------------------------

TEST_F(RouterFault, AConnectionThatNobodyTakesIsGivenUpAfterASecond) {
  start_two();
  network_.swallow_connects(a_->address());
  const auto replies = ask_both();
  for (const Reply* reply : replies) EXPECT_EQ(reply->status, 200);
  const base::Nanos longest = std::max(replies[0]->took(), replies[1]->took());
  EXPECT_GE(longest, seconds(1));
  EXPECT_LE(longest, milliseconds(1'010));
}

TEST_F(RouterFault, TheFirstByteHasItsTimeAndThenTheAnswerIs504) {
  FakeEngine& a = engine(1);
  FakeEngine& b = engine(2);
  a.script = b.script = after(seconds(299), answer(200, "just"));
  start();
  EXPECT_EQ(ask(chat("hi")).body, "just");
  a.script = b.script = hang();
  const Reply& reply = ask(chat("hi"));
  EXPECT_EQ(reply.status, 504);
  EXPECT_GE(reply.took(), seconds(300));
  EXPECT_LE(reply.took(), milliseconds(300'010));
  EXPECT_EQ(a.seen.size() + b.seen.size(), 2U) << "out of time is no reason to begin again";
  // vLLM sends its head before prefill: it is not the first byte.
  a.script = b.script = broken_events({}, seconds(0), Then::kHang);
  EXPECT_EQ(ask(kStreaming).status, 504);
}

TEST_F(RouterFault, ASilenceWithinAStreamHasItsTime) {
  FakeEngine& a = engine(1);
  a.script = events({token_event("a"), token_event("b")}, milliseconds(59'900));
  start();
  EXPECT_EQ(ask(kStreaming).body, token_event("a") + token_event("b") + kDone);
  a.script = broken_events({token_event("a")}, milliseconds(100), Then::kHang);
  const Reply& reply = ask(kStreaming);
  EXPECT_TRUE(reply.whole());
  EXPECT_THAT(reply.body, StartsWith(token_event("a")));
  EXPECT_THAT(reply.body, HasSubstr("\"error\""));
  EXPECT_THAT(reply.body, EndsWith(kDone));
  EXPECT_NEAR(base::to_ms(reply.took()), 60'100, 5);
}

TEST_F(RouterFault, AWholeRequestHasItsTime) {
  FakeEngine& a = engine(1);
  a.script = events(std::vector<std::string>(200, token_event("a")), seconds(30));
  start();
  const Reply& reply = ask(kStreaming);
  EXPECT_THAT(reply.body, HasSubstr("\"error\""));
  EXPECT_NEAR(base::to_ms(reply.took()), 3'600'000, 5);
}

TEST_F(RouterFault, TheTimeForTheWholeRequestCountsBeforeItsFirstByteAsWell) {
  FakeEngine& a = engine(1);
  a.script = hang();
  start({.request_timeout = seconds(10)});
  const Reply& reply = ask(chat("hi"));
  EXPECT_EQ(reply.status, 504);
  EXPECT_NEAR(base::to_ms(reply.took()), 10'000, 5);
}

TEST_F(RouterFault, ADeadlineOfTheRequestIsNotHeldAgainstTheReplica) {
  FakeEngine& a = engine(1);
  a.script = events(std::vector<std::string>(20, token_event("a")), seconds(1));
  start({.request_timeout = milliseconds(1'500)});
  for (int i = 0; i < 6; ++i) send(post(kStreaming));
  run_for(seconds(3));
  EXPECT_EQ(metric("fairlead_backend_state{backend=\"10.0.0.1:8000\",state=\"ready\"}"), 1);
}

// ---- answers that break off ---------------------------------------------------------------------

class RouterBreakOff : public RouterFault, public testing::WithParamInterface<Then> {};

TEST_P(RouterBreakOff, AStreamOfEventsEndsWithAnErrorAndDone) {
  start_two();
  a_->script = b_->script =
      broken_events({token_event("a"), "data: {\"half"}, milliseconds(10), GetParam());
  for (const int minor : {1, 0}) {
    const Reply& reply = ask({.body = kStreaming, .minor_version = minor});
    EXPECT_EQ(reply.status, 200);
    EXPECT_TRUE(reply.whole());
    EXPECT_THAT(reply.body, StartsWith(token_event("a") + "data: {\"error\":"));
    EXPECT_THAT(reply.body, EndsWith("\n\n" + kDone));
    EXPECT_EQ(reply.body.find("half"), std::string::npos);
  }
  EXPECT_EQ(a_->seen.size() + b_->seen.size(), 2U) << "never again after the first byte";
}

TEST_P(RouterBreakOff, AJsonAnswerIsCutOff) {
  start_two();
  const std::vector<std::string> answers = {
      answer_head(200, "Content-Length: 20\r\n") + "{\"half\":",
      answer_head(200, "Transfer-Encoding: chunked\r\n") + chunk("{\"half\":"),
  };
  for (const std::string& bytes : answers) {
    for (const int minor : {1, 0}) {
      Script script = raw(bytes, GetParam());
      script.steps.push_back({.wait = milliseconds(10), .bytes = ""});
      a_->script = b_->script = script;
      const Reply& reply = ask({.body = chat("hi"), .minor_version = minor});
      EXPECT_EQ(reply.status, 200);
      EXPECT_EQ(reply.end, End::kAborted);
    }
  }
  EXPECT_EQ(a_->seen.size() + b_->seen.size(), 4U);
}

INSTANTIATE_TEST_SUITE_P(All, RouterBreakOff, testing::Values(Then::kReset, Then::kClose));

TEST_F(RouterFault, BrokenChunksWithinAStreamEndItWithAnError) {
  FakeEngine& a = engine(1);
  a.script = broken_events({token_event("a")}, milliseconds(1), Then::kHang);
  a.script.steps.push_back({.wait = milliseconds(10), .bytes = "zz\r\n"});
  start();
  const Reply& reply = ask(kStreaming);
  EXPECT_TRUE(reply.whole());
  EXPECT_THAT(reply.body, HasSubstr("\"error\""));
  EXPECT_THAT(reply.body, EndsWith(kDone));
}

TEST_F(RouterFault, AKilledEngineLosesItsStreamsAndNothingElse) {
  start_two();
  a_->script = b_->script =
      events(std::vector<std::string>(50, token_event("t")), milliseconds(100));
  for (int i = 0; i < 20; ++i) send(post(kStreaming));
  run_for(seconds(1));
  a_->script = b_->script = after(seconds(5), answer(200, "{}"));
  for (int i = 0; i < 20; ++i) send(post(chat("hi")));
  run_for(milliseconds(500));
  a_->kill();
  run_for(seconds(20));
  size_t broken = 0;
  for (const Reply& reply : replies_) {
    EXPECT_EQ(reply.status, 200);
    EXPECT_TRUE(reply.whole());
    if (reply.body.find("error") != std::string::npos) ++broken;
  }
  EXPECT_EQ(broken, 10U);
}

// ---- clients ------------------------------------------------------------------------------------

TEST_F(RouterFault, AClientThatLeavesDuringPrefillFreesTheEngineAtOnce) {
  FakeEngine& a = engine(1);
  a.script = hang();
  start();
  const base::TimePoint leave = now() + seconds(2);
  const Reply& reply = ask({.body = chat("hi"), .leave_at = leave});
  EXPECT_EQ(reply.end, End::kLeft);
  run_for(milliseconds(1));
  ASSERT_EQ(a.seen.size(), 1U);
  ASSERT_TRUE(a.seen[0].left_at);
  EXPECT_LE(*a.seen[0].left_at - leave, milliseconds(1));
  EXPECT_EQ(metric("fairlead_requests_cancelled_total{reason=\"client_gone\"}"), 1);
  EXPECT_EQ(metric("fairlead_backend_state{backend=\"10.0.0.1:8000\",state=\"ready\"}"), 1);
}

TEST_F(RouterFault, AClientThatLeavesMidStreamFreesTheEngineAtOnce) {
  FakeEngine& a = engine(1);
  a.script = events(std::vector<std::string>(100, token_event("t")), seconds(10));
  start();
  const base::TimePoint leave = now() + seconds(25);
  const Reply& reply = ask({.body = kStreaming, .leave_at = leave});
  EXPECT_EQ(reply.pieces.size(), 2U);
  run_for(milliseconds(1));
  ASSERT_TRUE(a.seen[0].left_at);
  EXPECT_LE(*a.seen[0].left_at - leave, milliseconds(1)) << "not at the next chunk";
  EXPECT_EQ(metric("fairlead_requests_cancelled_total{reason=\"client_gone\"}"), 1);
}

TEST_F(RouterFault, ManyClientsThatLeaveDoNotMakeAReplicaSuspect) {
  FakeEngine& a = engine(1);
  a.script = events(std::vector<std::string>(100, token_event("t")), seconds(1));
  start();
  for (int i = 0; i < 50; ++i) {
    send({.body = kStreaming, .leave_at = now() + milliseconds(10 + 100 * i)});
  }
  run_for(seconds(6));
  EXPECT_EQ(metric("fairlead_backend_state{backend=\"10.0.0.1:8000\",state=\"ready\"}"), 1);
}

TEST_F(RouterFault, AClientThatLeavesWhileItsModelIsAwaitedIsForgotten) {
  engine(1).kill();
  start_cold();
  const Reply& reply = ask({.body = chat("hi"), .leave_at = now() + seconds(1)});
  EXPECT_EQ(reply.end, End::kLeft);
  run_for(milliseconds(1));
  EXPECT_EQ(metric("fairlead_requests_in_flight"), 0);
}

TEST_F(RouterFault, AStalledClientHoldsTheEngineBackAndGetsEverythingInTheEnd) {
  FakeEngine& a = engine(1);
  const size_t count = 400;
  const std::string large = event(std::string(20'000, 'x'));
  a.script = events(std::vector<std::string>(count, large));
  start();
  const Reply& reply = send({.body = kStreaming, .read_from = now() + seconds(50)});
  run_for(seconds(49));
  // What both windows, one read and the engine's slice take.
  EXPECT_LE(a.bytes_sent, 2 * 256 * 1024 + 2 * 64 * 1024 + 20'000U);
  EXPECT_FALSE(a.seen[0].played);
  run_for(seconds(2));
  EXPECT_TRUE(reply.whole());
  EXPECT_EQ(reply.body.size(), count * large.size() + kDone.size());
  EXPECT_TRUE(a.seen[0].played);
}

TEST_F(RouterFault, AClientThatDoesNotReadIsCutOffAfterTheWriteTimeout) {
  FakeEngine& a = engine(1);
  a.script = events(std::vector<std::string>(400, event(std::string(20'000, 'x'))));
  start();
  const base::TimePoint asked = now();
  const Reply& reply = send({.body = kStreaming, .read_from = now() + seconds(100)});
  run_for(seconds(59));
  EXPECT_FALSE(a.seen[0].left_at);
  run_for(seconds(2));
  ASSERT_TRUE(a.seen[0].left_at);
  EXPECT_NEAR(base::to_ms(*a.seen[0].left_at - asked), 60'000, 100);
  run_for(seconds(60));
  EXPECT_EQ(reply.end, End::kAborted) << "it must not look complete";
}

TEST_F(RouterFault, ASlowHeadOfAClientIsCutOff) {
  engine(1);
  start({.head_timeout = seconds(10)});
  RawClient& client = raw_client();
  client.send("POST /v1/chat/completions HT");
  run_for(milliseconds(9'900));
  EXPECT_EQ(client.received, "");
  run_for(milliseconds(200));
  EXPECT_THAT(client.received, StartsWith("HTTP/1.1 408 "));
}

TEST_F(RouterFault, AnIdleConnectionIsClosedInTime) {
  engine(1);
  start({.idle_timeout = seconds(75)});
  RawClient& client = raw_client();
  run_for(milliseconds(74'900));
  EXPECT_FALSE(client.ended);
  run_for(milliseconds(200));
  EXPECT_TRUE(client.ended);
}

}  // namespace
}  // namespace fairlead::router
