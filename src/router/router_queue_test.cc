// Requests that wait for room at a replica, end to end in virtual time.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/json.h"
#include "router/testing/router_world.h"

namespace fairlead::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

using End = Reply::End;

// An answer that takes so long.
Script after(base::Nanos time, std::string_view body = "{}") {
  Script script = answer(200, body);
  script.steps.front().wait = time;
  return script;
}

class RouterQueue : public RouterTest {
 protected:
  // Replicas that take a second for an answer.
  void start_slow(int replicas, RouterConfig config = {}) {
    for (int i = 1; i <= replicas; ++i) engine(i).script = after(seconds(1));
    if (config.backend_requests_max == 0) config.backend_requests_max = 1;
    if (!config.policy) config.policy = "least-request";
    start(config);
  }
  const Reply& send_on(size_t shard, const std::string& body = chat("hi")) {
    Ask request = post(body);
    request.shard = shard;
    return send(request);
  }
  size_t active() const {
    size_t active = 0;
    for (const FakeEngine& e : engines_) active += e.active();
    return active;
  }
  double queued() const { return metric("fairlead_queue_requests"); }
  double shed(std::string_view reason) const {
    return metric(fmt::format("fairlead_requests_shed_total{{reason=\"{}\"}}", reason));
  }
  double waits(std::string_view outcome) const {
    return metric(fmt::format("fairlead_queue_wait_seconds_count{{outcome=\"{}\"}}", outcome));
  }
};

// The error of a body, by member.
std::string error_member(const Reply& reply, const std::string& name) {
  const auto json = codec::parse_json(reply.body);
  return json ? json->find("error")->find(name)->as_string() : "no JSON";
}

TEST_F(RouterQueue, IsNotThereWithoutABound) {
  engine(1).script = after(seconds(1));
  start();
  for (int i = 0; i < 300; ++i) send(post(chat("hi")));
  run_for(milliseconds(500));
  EXPECT_EQ(active(), 300U);
  run_for(seconds(2));
  EXPECT_EQ(unanswered(), 0U);
}

TEST_F(RouterQueue, GivesEachReplicaAsManyRequestsAsItMayAndServesTheRestInOrder) {
  start_slow(2, {.backend_requests_max = 2});
  std::vector<const Reply*> replies;
  for (int i = 0; i < 12; ++i) {
    replies.push_back(&send(post(chat("hi"))));
    run_for(milliseconds(1));
  }
  EXPECT_EQ(active(), 4U);
  EXPECT_EQ(queued(), 8);
  EXPECT_GT(metric("fairlead_queue_bytes"), 0);
  run_for(seconds(4));
  for (const FakeEngine& e : engines_) EXPECT_EQ(e.seen.size(), 6U);
  for (size_t i = 0; i < replies.size(); ++i) {
    EXPECT_EQ(replies[i]->status, 200);
    EXPECT_NEAR(base::to_seconds(replies[i]->took()), static_cast<double>(1 + i / 4), 0.1) << i;
    if (i > 0) EXPECT_GE(replies[i]->done_at, replies[i - 1]->done_at) << i;
  }
  EXPECT_EQ(queued(), 0);
  EXPECT_EQ(metric("fairlead_queue_bytes"), 0);
  EXPECT_EQ(waits("served"), 8);
}

TEST_F(RouterQueue, IsOneForAllShards) {
  start_slow(1, {.loops = 4});
  std::vector<const Reply*> replies;
  for (size_t i = 0; i < 8; ++i) {
    replies.push_back(&send_on(i % 4));
    run_for(milliseconds(1));
  }
  EXPECT_EQ(active(), 1U);
  run_for(seconds(9));
  for (size_t i = 1; i < replies.size(); ++i) {
    EXPECT_EQ(replies[i]->status, 200);
    EXPECT_GT(replies[i]->done_at, replies[i - 1]->done_at) << i;
  }
}

TEST_F(RouterQueue, NewcomersDoNotOvertakeThoseWhoWait) {
  start_slow(1);
  send(post(chat("first")));
  run_for(milliseconds(500));
  const Reply& waits_first = send(post(chat("second")));
  // One comes every 10 ms, also in the moment when the place is given back.
  for (int i = 0; i < 100; ++i) {
    run_for(milliseconds(10));
    send(post(chat("later")));
  }
  EXPECT_EQ(engines_[0].seen.size(), 2U);
  EXPECT_THAT(engines_[0].seen.back().body, HasSubstr("second"));
  run_for(seconds(1));
  EXPECT_EQ(waits_first.status, 200);
}

TEST_F(RouterQueue, AFullModelDoesNotHoldUpAnother) {
  engine(1, {"llama"}).script = after(seconds(1));
  engine(2, {"qwen"}).script = after(milliseconds(10));
  start({.backend_requests_max = 1});
  for (int i = 0; i < 5; ++i) send(post(chat("hi")));
  run_for(milliseconds(1));
  const Reply& other = ask(R"({"model":"qwen","prompt":"x"})");
  EXPECT_EQ(other.status, 200);
  EXPECT_LT(other.took(), milliseconds(100));
  EXPECT_EQ(queued(), 4);
}

TEST_F(RouterQueue, TurnsAwayAtOnceWhatExceedsItsLength) {
  start_slow(1, {.queue_requests_max = 2});
  for (int i = 0; i < 3; ++i) send(post(chat("hi")));
  run_for(milliseconds(1));
  const Reply& reply = ask(chat("one too many"));
  EXPECT_EQ(reply.status, 503);
  EXPECT_LT(reply.took(), milliseconds(10));
  EXPECT_EQ(reply.field("retry-after"), "1");
  EXPECT_EQ(reply.field("content-type"), "application/json");
  EXPECT_EQ(error_member(reply, "type"), "server_error");
  EXPECT_EQ(error_member(reply, "code"), "overloaded");
  EXPECT_THAT(error_member(reply, "message"), HasSubstr("'llama' are full"));
  EXPECT_EQ(shed("queue_requests"), 1);
  run_for(seconds(4));
  EXPECT_EQ(metric(R"(fairlead_requests_total{model="llama",code="200"})"), 3);
  EXPECT_EQ(metric(R"(fairlead_requests_total{model="llama",code="503"})"), 1);
}

TEST_F(RouterQueue, OfLengthZeroTurnsAllAway) {
  start_slow(1, {.queue_requests_max = 0});
  const Reply& served = send(post(chat("hi")));
  run_for(milliseconds(1));
  EXPECT_EQ(ask(chat("hi")).status, 503);
  run_for(seconds(2));
  EXPECT_EQ(served.status, 200);
}

TEST_F(RouterQueue, TurnsAwayWhatExceedsItsBytes) {
  const std::string body = chat(std::string(1000, 'x'));
  start_slow(1, {.queue_bytes_max = base::Bytes(2 * body.size())});
  for (int i = 0; i < 3; ++i) send(post(body));
  run_for(milliseconds(1));
  EXPECT_EQ(queued(), 2) << "at the limit";
  EXPECT_EQ(metric("fairlead_queue_bytes"), static_cast<double>(2 * body.size()));
  const Reply& reply = ask(R"({"model":"llama","prompt":""})");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(shed("queue_bytes"), 1);
}

TEST_F(RouterQueue, TurnsAwayWhatHasWaitedTooLong) {
  start_slow(1, {.queue_wait_max = milliseconds(2500)});
  std::vector<const Reply*> replies;
  for (int i = 0; i < 5; ++i) replies.push_back(&send(post(chat("hi"))));
  run_for(seconds(6));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(replies[static_cast<size_t>(i)]->status, 200) << i;
  for (int i = 3; i < 5; ++i) {
    const Reply& late = *replies[static_cast<size_t>(i)];
    EXPECT_EQ(late.status, 503) << i;
    EXPECT_NEAR(base::to_seconds(late.took()), 2.5, 0.01) << i;
    EXPECT_EQ(late.field("retry-after"), "3") << "as long as the first has waited";
  }
  EXPECT_EQ(shed("queue_wait"), 2);
  EXPECT_EQ(waits("shed"), 2);
  EXPECT_EQ(waits("served"), 2);
}

TEST_F(RouterQueue, ForgetsAClientThatLeavesAtOnce) {
  start_slow(1);
  send(post(chat("runs")));
  run_for(milliseconds(1));
  Ask impatient = post(chat("impatient"));
  impatient.leave_at = now() + milliseconds(300);
  const Reply& left = send(impatient);
  const Reply& behind = send(post(chat("behind")));
  run_for(milliseconds(200));
  EXPECT_EQ(queued(), 2);
  run_for(milliseconds(102));
  EXPECT_EQ(left.end, End::kLeft);
  EXPECT_EQ(queued(), 1);
  run_for(seconds(2));
  EXPECT_EQ(behind.status, 200);
  EXPECT_NEAR(base::to_seconds(behind.took()), 2, 0.1) << "the one that left took no turn";
  EXPECT_EQ(engines_[0].seen.size(), 2U);
  EXPECT_EQ(waits("left"), 1);
  EXPECT_EQ(metric(R"(fairlead_requests_cancelled_total{reason="client_gone"})"), 1);
}

TEST_F(RouterQueue, AClientThatLeavesInItsTurnLeavesTheTurnToTheNext) {
  start_slow(1);
  send(post(chat("runs")));
  run_for(milliseconds(1));
  // Leaves in the very moment in which the place is given back.
  Ask leaver = post(chat("leaves"));
  leaver.leave_at = now() + seconds(1) - milliseconds(1);
  send(leaver);
  const Reply& behind = send(post(chat("behind")));
  run_for(milliseconds(2500));
  EXPECT_EQ(behind.status, 200);
}

TEST_F(RouterQueue, AReplicaThatComesLaterTakesWhoWaits) {
  start_slow(2);
  engines_[1].kill();
  run_for(seconds(10));
  std::vector<const Reply*> replies;
  for (int i = 0; i < 4; ++i) replies.push_back(&send(post(chat("hi"))));
  run_for(milliseconds(100));
  EXPECT_EQ(queued(), 3);
  engines_[1].start();
  run_for(seconds(20));
  for (const Reply* reply : replies) EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(unanswered(), 0U);
}

TEST_F(RouterQueue, IsAnsweredAtOnceWhenTheLastReplicaDies) {
  start_slow(1);
  engines_[0].script = {.steps = {}, .then = Script::Then::kHang};
  for (int i = 0; i < 5; ++i) send(post(chat("hi")));
  run_for(milliseconds(10));
  EXPECT_EQ(queued(), 4);
  engines_[0].kill();
  run_for(seconds(10));
  EXPECT_EQ(unanswered(), 0U);
  for (const Reply& reply : replies_) {
    EXPECT_GE(reply.status, 502);
    EXPECT_LT(reply.took(), seconds(9)) << "not only when their time was up";
  }
  EXPECT_EQ(shed("queue_wait"), 0);
}

TEST_F(RouterQueue, ARetryWaitsForAnotherReplicaAndIsNotInTheWay) {
  FakeEngine& bad = engine(1);
  FakeEngine& good = engine(2);
  start({.policy = "round-robin", .backend_requests_max = 1});
  good.script = after(seconds(1));
  bad.script = after(seconds(5));
  bad.next.push_back(answer(500, "bad"));
  const Reply& runs = send(post(chat("runs")));  // at one of them, the other
  run_for(milliseconds(1));
  const Reply& second = send(post(chat("second")));
  run_for(milliseconds(1));
  const Reply& third = send(post(chat("third")));
  run_for(seconds(8));
  for (const Reply* reply : {&runs, &second, &third}) EXPECT_EQ(reply->status, 200);
}

// ---- seeds --------------------------------------------------------------------------------------

// More than the replicas can take, with clients that leave at random: each is answered or has left,
// no replica has more than it may, nobody waits past the bound.
TEST_F(RouterQueue, HoldsItsBoundsUnderOverload) {
  constexpr uint32_t kMax = 3;
  start_slow(3, {.loops = 2,
                 .backend_requests_max = kMax,
                 .queue_requests_max = 20,
                 .queue_wait_max = seconds(2)});
  base::Random random(7);
  for (FakeEngine& e : engines_) {
    e.make = [&](const FakeEngine::Seen&) {
      return after(milliseconds(100 + static_cast<int64_t>(random.below(900))));
    };
  }
  double longest = 0;
  for (int i = 0; i < 1000; ++i) {
    Ask request = post(chat("hi"));
    request.shard = random.below(2);
    if (random.below(5) == 0) {
      request.leave_at = now() + milliseconds(1 + static_cast<int64_t>(random.below(1500)));
    }
    send(request);
    run_for(milliseconds(static_cast<int64_t>(random.below(40))));
    longest = std::max(longest, queued());
    for (const FakeEngine& e : engines_) ASSERT_LE(e.active(), kMax) << i;
  }
  run_for(seconds(5));
  EXPECT_EQ(unanswered(), 0U);
  EXPECT_EQ(longest, 20) << "the load is more than enough to fill the queue";
  size_t served = 0;
  size_t turned_away = 0;
  for (const Reply& reply : replies_) {
    if (reply.end == End::kLeft) continue;
    ASSERT_TRUE(reply.status == 200 || reply.status == 503) << reply.status;
    ASSERT_LE(reply.took(), seconds(2) + seconds(1) + milliseconds(10));
    (reply.status == 200 ? served : turned_away) += 1;
  }
  EXPECT_GT(served, 200U);
  EXPECT_GT(turned_away, 100U);
  EXPECT_EQ(metric(R"(fairlead_requests_total{model="llama",code="503"})"),
            static_cast<double>(turned_away));
}

}  // namespace
}  // namespace fairlead::router
