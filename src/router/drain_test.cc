// A router that drains, end to end in virtual time, and `fairlead drain` at its debug port.
#include "router/drain.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "router/drain_client.h"
#include "router/testing/router_world.h"

namespace fairlead::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using End = Reply::End;

TEST(DrainStatus, GoesThroughJson) {
  for (const DrainState state :
       {DrainState::kServing, DrainState::kAnnounced, DrainState::kDraining}) {
    const auto read = parse_drain_status(to_json({.state = state, .requests = 12, .process = 7}));
    ASSERT_TRUE(read) << read.error().describe();
    EXPECT_EQ(read->state, state);
    EXPECT_EQ(read->requests, 12U);
    EXPECT_EQ(read->process, 7U);
  }
  for (const char* text : {"", "[]", "{}", "ok\n", R"({"state":"gone","requests":1,"process":1})",
                           R"({"state":"serving","requests":"1","process":1})",
                           R"({"state":1,"requests":1,"process":1})"}) {
    EXPECT_FALSE(parse_drain_status(text)) << text;
  }
}

const std::string kTokens = chat("hi", R"("stream":true)");

class RouterDrain : public RouterTest {
 protected:
  // As a process does: whatever is left ends when the drain has.
  void start(RouterConfig config = {}) {
    RouterTest::start(std::move(config));
    serving_.spawn(end_when_drained());
  }
  const Reply& ask_at(size_t port, std::string_view method, std::string path,
                      std::string fields = {}) {
    return ask({.body = {},
                .path = std::move(path),
                .method = std::string(method),
                .fields = std::move(fields),
                .shard = port});
  }
  int ready() {
    const int own = ask(get("/readyz")).status;
    EXPECT_EQ(ask_at(kMetricsPort, "GET", "/readyz").status, own);
    return own;
  }
  void post_drain() { ASSERT_EQ(ask_at(kDebugPort, "POST", "/drain").status, 200); }

  // `fairlead drain` against the debug port, or another.
  struct Outcome {
    std::vector<std::string> lines;
    std::optional<base::Result<>> result;
  };
  void drain_by_command(Outcome& outcome, DrainConfig config = {}, size_t port = kDebugPort) {
    clients_.spawn(command(outcome, config, port));
  }

  bool ended_ = false;

 private:
  rt::Task<void> end_when_drained() {
    co_await router_->drain().run();
    ended_ = router_->drain().begun();
    serving_.cancel(rt::CancelReason::kShutdown);
  }
  rt::Task<void> command(Outcome& outcome, DrainConfig config, size_t port) {
    const net::HostPort url{.host = fmt::format("10.1.0.{}", port + 1), .port = 8080};
    outcome.result = co_await drain_router(
        network_, url, config,
        [&outcome](std::string_view line) { outcome.lines.emplace_back(line); });
  }
};

TEST_F(RouterDrain, AnnouncesItTakesRequestsForTheDelayAndFinishesWhatRuns) {
  FakeEngine& a = engine(1);
  start({.drain_delay = seconds(5), .drain_timeout = seconds(60)});
  a.script = events({token_event("a"), token_event("b"), token_event("c")}, seconds(4));
  const Reply& running = send(post(kTokens));
  EXPECT_EQ(ready(), 200);
  post_drain();
  EXPECT_EQ(ready(), 503);
  a.script = answer(200, "{}");
  EXPECT_EQ(ask(chat("hi")).status, 200) << "load balancers notice late";
  run_for(seconds(6));
  EXPECT_EQ(ask(chat("hi")).end, End::kNoAnswer);
  EXPECT_EQ(running.end, End::kPending);
  run_for(seconds(10));
  EXPECT_TRUE(running.whole());
  EXPECT_THAT(running.body, HasSubstr("[DONE]"));
  EXPECT_TRUE(ended_);
}

TEST_F(RouterDrain, AskingAgainChangesNothing) {
  FakeEngine& a = engine(1);
  start({.drain_delay = seconds(5), .drain_timeout = seconds(10)});
  a.script = {.steps = {}, .then = Script::Then::kHang};
  const Reply& hangs = send(post(chat("hi")));
  const base::TimePoint began = now();
  for (int i = 0; i < 14; ++i) {
    post_drain();
    run_for(seconds(1));
  }
  run_for(seconds(5));
  EXPECT_TRUE(ended_);
  EXPECT_NE(hangs.end, End::kPending);
  EXPECT_LE(hangs.done_at, began + seconds(15) + milliseconds(100)) << "its time is not extended";
}

TEST_F(RouterDrain, SaysHowItGoes) {
  FakeEngine& a = engine(1);
  start({.drain_delay = seconds(2)});
  a.script = events({token_event("a")}, seconds(5));
  send(post(kTokens));
  send(post(kTokens));
  run_for(milliseconds(1));
  EXPECT_THAT(ask_at(kDebugPort, "GET", "/drain").body,
              AllOf(HasSubstr(R"("state":"serving")"), HasSubstr(R"("requests":2)")));
  post_drain();
  EXPECT_THAT(ask_at(kDebugPort, "GET", "/drain").body, HasSubstr(R"("state":"announced")"));
  run_for(seconds(3));
  EXPECT_THAT(ask_at(kDebugPort, "GET", "/drain").body, HasSubstr(R"("state":"draining")"));
  run_for(seconds(10));
  EXPECT_TRUE(ended_);
}

TEST_F(RouterDrain, IsForThisMachineAndNotForPagesOfABrowser) {
  engine(1);
  start();
  EXPECT_EQ(ask_at(kDebugPort, "POST", "/drain", "Origin: http://evil.example\r\n").status, 403);
  EXPECT_EQ(ask_at(kDebugPort, "DELETE", "/drain").status, 405);
  EXPECT_EQ(ask_at(kDebugPort, "POST", "/debug/config_dump/pods").status, 405);
  EXPECT_EQ(ask_at(kMetricsPort, "POST", "/drain").status, 404);
  EXPECT_EQ(ask({.body = "{}", .path = "/drain"}).status, 404);
  EXPECT_FALSE(router_->drain().begun());
  EXPECT_EQ(ready(), 200);
}

TEST_F(RouterDrain, TheCommandTellsHowItGoesUntilTheRouterHasStopped) {
  FakeEngine& a = engine(1);
  start({.drain_delay = seconds(2)});
  a.script = events({token_event("a"), token_event("b")}, milliseconds(3050));
  send(post(kTokens));
  run_for(seconds(1));
  Outcome outcome;
  drain_by_command(outcome);
  run_for(seconds(20));
  ASSERT_TRUE(outcome.result);
  EXPECT_TRUE(outcome.result->ok()) << outcome.result->error().describe();
  EXPECT_THAT(outcome.lines,
              ElementsAre("10.1.0.102:8080 drains: /readyz says no; requests to go: 1",
                          "draining; requests to go: 1", "10.1.0.102:8080 has stopped"));
}

TEST_F(RouterDrain, TheCommandMayBeGivenTwice) {
  engine(1);
  start({.drain_delay = seconds(2)});
  Outcome first;
  Outcome second;
  drain_by_command(first);
  drain_by_command(second, {.wait = false});
  run_for(seconds(1));
  ASSERT_TRUE(second.result);
  EXPECT_TRUE(second.result->ok());
  EXPECT_EQ(second.lines.size(), 1U);
  EXPECT_FALSE(first.result);
  run_for(seconds(5));
  ASSERT_TRUE(first.result);
  EXPECT_TRUE(first.result->ok());
}

TEST_F(RouterDrain, TheCommandGivesUpInTimeAndTheRouterGoesOn) {
  FakeEngine& a = engine(1);
  start({.drain_delay = seconds(1)});
  a.script = {.steps = {}, .then = Script::Then::kHang};
  send(post(chat("hi")));
  run_for(milliseconds(10));
  Outcome outcome;
  drain_by_command(outcome, {.timeout = seconds(3)});
  run_for(seconds(4));
  ASSERT_TRUE(outcome.result);
  EXPECT_EQ(outcome.result->error().code(), base::ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(outcome.result->error().describe(),
              HasSubstr("after 3s requests are still running (1)"));
  EXPECT_TRUE(router_->drain().begun());
  run_for(seconds(70));
  EXPECT_TRUE(ended_);
}

TEST_F(RouterDrain, TheCommandSaysWhatIsWrong) {
  engine(1);
  start();
  Outcome nobody;
  drain_by_command(nobody, {}, 77);
  Outcome other;
  drain_by_command(other, {}, kMetricsPort);
  run_for(seconds(6));
  ASSERT_TRUE(nobody.result && other.result);
  EXPECT_THAT(nobody.result->error().describe(),
              AllOf(HasSubstr("10.1.0.78:8080 does not drain"), HasSubstr("--debug-port")));
  EXPECT_THAT(other.result->error().describe(),
              AllOf(HasSubstr("it answers 404"), HasSubstr("another port")));
  EXPECT_FALSE(router_->drain().begun());
}

// ---- hand-over ----------------------------------------------------------------------------------

TEST_F(RouterDrain, AHandOverTakesNoConnectionMoreAndAnswersEachOnceMore) {
  engine(1);
  start({.drain_delay = seconds(5)});
  const std::string body = chat("hi");
  const std::string request =
      fmt::format("POST /v1/chat/completions HTTP/1.1\r\nHost: r\r\nContent-Length: {}\r\n\r\n{}",
                  body.size(), body);
  RawClient& idle = raw_client();
  RawClient& sleeper = raw_client();
  for (RawClient* client : {&idle, &sleeper}) client->send(request);
  run_for(milliseconds(100));
  ASSERT_THAT(idle.received, HasSubstr("HTTP/1.1 200"));
  router_->hand_over();
  run_for(milliseconds(10));
  EXPECT_EQ(ask(chat("hi")).end, End::kNoAnswer) << "the other process takes it";
  EXPECT_FALSE(idle.ended) << "a request may be under way to it";
  idle.received.clear();
  idle.send(request);
  run_for(milliseconds(100));
  EXPECT_THAT(idle.received, AllOf(HasSubstr("HTTP/1.1 200"), HasSubstr("connection: close\r\n")));
  EXPECT_TRUE(idle.ended);
  EXPECT_FALSE(sleeper.ended);
  EXPECT_FALSE(ended_);
  run_for(seconds(6));
  EXPECT_TRUE(sleeper.ended);
  EXPECT_TRUE(ended_);
}

TEST_F(RouterDrain, AHandOverKeepsAConnectionThatWasPromisedToStay) {
  FakeEngine& a = engine(1);
  start({.drain_delay = seconds(5)});
  a.script = events({token_event("a"), token_event("b")}, milliseconds(100));
  const auto request = [](const std::string& body) {
    return fmt::format(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: r\r\nContent-Length: {}\r\n\r\n{}",
        body.size(), body);
  };
  RawClient& client = raw_client();
  client.send(request(kTokens));
  run_for(milliseconds(150));
  ASSERT_THAT(client.received, HasSubstr("HTTP/1.1 200"));
  router_->hand_over();
  run_for(seconds(1));
  ASSERT_THAT(client.received, HasSubstr("[DONE]"));
  EXPECT_FALSE(client.ended) << "its head did not say that it would close";
  a.script = answer(200, "{}");
  client.send(request(chat("hi")));
  run_for(seconds(1));
  EXPECT_THAT(client.received, HasSubstr("connection: close\r\n"));
  EXPECT_TRUE(client.ended);
}

TEST_F(RouterDrain, AHandOverEndsAsSoonAsNothingIsLeft) {
  engine(1);
  start({.drain_delay = seconds(3600)});
  ask(chat("hi"));
  router_->hand_over();
  run_for(seconds(2));
  EXPECT_TRUE(ended_);
}

}  // namespace
}  // namespace fairlead::router
