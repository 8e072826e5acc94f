#include "bench/slice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/clock.h"
#include "bench/server_testing.h"
#include "codec/json.h"
#include "workload/report.h"

namespace fairlead::bench {
namespace {

using namespace std::chrono_literals;
using base::Nanos;
using workload::ArrivalKind;
using workload::Outcome;
using workload::SessionKind;

class SliceTest : public testing::Test {
 protected:
  LoadTarget& target(workload::SessionOptions sessions, CpuClock cpu = nullptr) {
    const LoadOptions options{
        .shape = {.model = "fake"}, .sessions = std::move(sessions), .cpu = std::move(cpu)};
    targets_.push_back(std::make_unique<LoadTarget>(
        network_, Endpoint{.label = "t", .host = "fake", .address = server_.address()}, options));
    return *targets_.back();
  }
  void run(LoadTarget& target, SliceOptions options) { loop_.block_on(run_slice(target, options)); }
  void TearDown() override {
    targets_.clear();
    loop_.block_on(server_.stop());
  }
  static workload::SessionOptions conversations(uint32_t turns, Nanos think) {
    return {.kind = SessionKind::kConversations,
            .prompts = {.prefixes = 2, .prefix_tokens = 20, .seed = 4},
            .turns = turns,
            .think_time = think};
  }
  static workload::SessionOptions recorded(std::vector<Nanos> times) {
    workload::Trace trace;
    for (const Nanos at : times) {
      workload::RecordedSession session{.at = at, .system = "", .turns = {}};
      session.turns.push_back(
          {.question = "", .blocks = {trace.size()}, .prompt_tokens = 40, .output_tokens = 77});
      trace.push_back(std::move(session));
    }
    return {.kind = SessionKind::kRecorded,
            .trace = std::make_shared<const workload::Trace>(std::move(trace))};
  }

  base::ManualClock clock_;
  rt::Loop loop_{clock_};
  net::MemoryNetwork network_{loop_, {.latency = 50us}};
  FakeServer server_{network_, 8000};
  std::vector<std::unique_ptr<LoadTarget>> targets_;
};

TEST_F(SliceTest, SendsEveryTurnWithAllThatWasSaidBefore) {
  workload::Trace trace(1);
  for (const char* question : {"One?", "Two \"2\"?", "Three?"}) {
    trace[0].turns.push_back({.question = question, .blocks = {}, .output_tokens = std::nullopt});
  }
  LoadTarget& one = target({.kind = SessionKind::kRecorded,
                            .think_time = 1s,
                            .trace = std::make_shared<const workload::Trace>(trace)});
  run(one, {.concurrency = 1});
  ASSERT_EQ(one.log().samples.size(), 3U);
  const auto body = codec::parse_json(server_.last_body());
  ASSERT_TRUE(body.ok()) << server_.last_body();
  const auto messages = body->find("messages")->items();
  ASSERT_EQ(messages.size(), 5U);
  EXPECT_THAT(messages[0].find("content")->as_string(), testing::EndsWith("] One?"));
  EXPECT_EQ(messages[1].find("role")->as_string(), "assistant");
  EXPECT_EQ(messages[1].find("content")->as_string(), "aaaaa");
  EXPECT_EQ(messages[2].find("content")->as_string(), "Two \"2\"?");
  EXPECT_EQ(messages[4].find("content")->as_string(), "Three?");
}

TEST_F(SliceTest, WaitsForAUserToThinkBetweenAnAnswerAndTheNextTurn) {
  LoadTarget& one = target(conversations(4, 3s));
  run(one, {.requests = 400, .concurrency = 10});
  const auto report = workload::make_report("t", one.log());
  EXPECT_EQ(report.requests, 400U);
  EXPECT_EQ(report.errors, 0U);
  // Three of four turns are thought about, for 3 s on average; an answer takes 0.14 s.
  EXPECT_NEAR(report.requests_per_s, 10 / (0.14 + 0.75 * 3), 1);
  for (const auto& sample : one.log().samples) EXPECT_LE(sample.first_token, 101ms);
}

TEST_F(SliceTest, EndsAConversationWhoseTurnFailed) {
  server_.manner = Manner::kErrorEvent;
  LoadTarget& one = target(conversations(5, 0s));
  run(one, {.requests = 20, .concurrency = 2});
  std::set<uint32_t> sessions;
  for (const auto& sample : one.log().samples) sessions.insert(sample.prefix);
  EXPECT_EQ(sessions.size(), 20U) << "no second turn";
}

TEST_F(SliceTest, GoesOnWithConversationsThatASliceCut) {
  LoadTarget& whole = target(conversations(6, 1s));
  run(whole, {.requests = 60, .concurrency = 1});
  LoadTarget& cut = target(conversations(6, 1s));
  for (int i = 0; i < 20; ++i) run(cut, {.requests = 3, .concurrency = 1});
  ASSERT_EQ(cut.log().samples.size(), 60U);
  for (size_t i = 0; i < 60; ++i) {
    EXPECT_EQ(cut.log().samples[i].prefix, whole.log().samples[i].prefix) << i;
  }
}

TEST_F(SliceTest, LetsNobodyThinkPastTheEnd) {
  LoadTarget& by_count = target(conversations(5, 1h));
  run(by_count, {.requests = 8, .concurrency = 8});
  EXPECT_EQ(by_count.log().samples.size(), 8U);
  EXPECT_LE(by_count.log().busy, 1s) << "all eight thought when the last request was sent";
  LoadTarget& by_time = target(conversations(5, 1h));
  run(by_time, {.duration = 10s, .concurrency = 8});
  EXPECT_LE(by_time.log().busy, 11s);
}

TEST_F(SliceTest, KeepsTheRateOfRequestsWhereSessionsHaveManyTurns) {
  LoadTarget& one = target(conversations(5, 1s));
  run(one, {.duration = 200s, .arrivals = {{.per_second = 20}}});
  EXPECT_NEAR(static_cast<double>(one.log().samples.size()) / 200, 20, 1.5);
}

TEST_F(SliceTest, SendsATraceAtItsTimesAndItsLengths) {
  LoadTarget& one = target(recorded({0s, 10s, 10s, 30s}));
  run(one, {.arrivals = {{.kind = ArrivalKind::kTrace, .speedup = 2}}});
  ASSERT_EQ(one.log().samples.size(), 4U);
  EXPECT_EQ(one.log().samples[0].started, 0s);
  EXPECT_EQ(one.log().samples[1].started, 5s);
  EXPECT_EQ(one.log().samples[2].started, 5s);
  EXPECT_EQ(one.log().samples[3].started, 15s);
  const auto body = codec::parse_json(server_.last_body());
  EXPECT_EQ(body->find("max_tokens")->as_int(), 77);
  EXPECT_TRUE(body->find("ignore_eos")->as_bool());
}

TEST_F(SliceTest, LosesNoRequestOfATraceBetweenSlices) {
  LoadTarget& one = target(recorded({0s, 1s, 2s, 3s, 4s, 5s, 6s}));
  for (int i = 0; i < 4; ++i) {
    run(one, {.requests = 2, .arrivals = {{.kind = ArrivalKind::kTrace}}});
  }
  EXPECT_EQ(one.log().samples.size(), 7U);
  LoadTarget& timed = target(recorded({0s, 1s, 2s, 3s, 4s, 5s, 6s}));
  for (int i = 0; i < 4; ++i) {
    run(timed, {.duration = 1500ms, .arrivals = {{.kind = ArrivalKind::kTrace}}});
  }
  EXPECT_EQ(timed.log().samples.size(), 7U);
}

TEST_F(SliceTest, ReplaysATraceInAClosedLoopToo) {
  LoadTarget& one = target(recorded({0s, 100s, 200s}));
  run(one, {.concurrency = 2});
  EXPECT_EQ(one.log().samples.size(), 3U);
  EXPECT_LE(one.log().busy, 1s);
}

TEST_F(SliceTest, SendsInEqualGaps) {
  LoadTarget& one = target({});
  run(one, {.requests = 5, .arrivals = {{.kind = ArrivalKind::kConstant, .per_second = 4}}});
  ASSERT_EQ(one.log().samples.size(), 5U);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(one.log().samples[static_cast<size_t>(i)].started, i * 250ms);
  }
}

TEST_F(SliceTest, WatchesItsClient) {
  // Half of a core, and then all of it.
  const base::ManualClock& clock = clock_;
  const CpuClock cpu = [&clock] {
    const Nanos at = clock.now().time_since_epoch();
    return CpuTimes{.used = at < 5s ? at / 2 : 2500ms + (at - 5s)};
  };
  LoadTarget& one = target({}, cpu);
  run(one, {.duration = 10s, .concurrency = 1});
  const auto client = workload::make_report("t", one.log()).client;
  ASSERT_TRUE(client.has_value());
  EXPECT_NEAR(client->cpu, 0.75, 0.02);
  EXPECT_NEAR(client->saturated, 0.5, 0.05);
  EXPECT_TRUE(client->was_bottleneck());
}

}  // namespace
}  // namespace fairlead::bench
