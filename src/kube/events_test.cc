#include "kube/events.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kube/testing/kube_world.h"

namespace fairlead::kube {
namespace {

using Act = EventDecision::Act;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

Report report(const std::string& message, const std::string& name = "web") {
  return {.subject = {.api_version = "v1", .kind = "Pod", .space = "s", .name = name, .uid = "u"},
          .type = EventType::kWarning,
          .reason = "Failed",
          .message = message};
}

struct Correlator : testing::Test {
  EventCorrelator correlator{{.similar_max = 3, .burst = 1000}};
  base::TimePoint now{seconds(10)};
  EventDecision decide(const Report& r) {
    now += seconds(1);
    return correlator.decide(r, now, base::WallTime(now.time_since_epoch()));
  }
};

TEST_F(Correlator, TheSameAgainIsCounted) {
  const EventDecision first = decide(report("a"));
  EXPECT_EQ(first.act, Act::kCreate);
  EXPECT_TRUE(first.name.starts_with("web."));
  const EventDecision again = decide(report("a"));
  EXPECT_EQ(again.act, Act::kCount);
  EXPECT_EQ(again.count, 2);
  EXPECT_EQ(again.name, first.name);
  EXPECT_EQ(decide(report("a", "other")).act, Act::kCreate);
  correlator.forget(first.name);
  EXPECT_EQ(decide(report("a")).act, Act::kCreate);
}

TEST_F(Correlator, ManyThatDifferInTheirMessageBecomeOne) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(decide(report(std::to_string(i))).act, Act::kCreate);
  const EventDecision combined = decide(report("3"));
  EXPECT_EQ(combined.act, Act::kCreate);
  EXPECT_EQ(combined.message, "(combined from similar events): 3");
  const EventDecision next = decide(report("4"));
  EXPECT_EQ(next.act, Act::kCount);
  EXPECT_EQ(next.name, combined.name);
  now += minutes(10);
  EXPECT_EQ(decide(report("5")).act, Act::kCreate);
}

TEST(EventCorrelator, OneSubjectIsCutDownAndOthersAreNot) {
  EventCorrelator correlator({.burst = 2, .refill = seconds(60)});
  base::TimePoint now{seconds(10)};
  const auto act = [&](const Report& r) { return correlator.decide(r, now, {}).act; };
  EXPECT_NE(act(report("a")), Act::kDrop);
  EXPECT_NE(act(report("a")), Act::kDrop);
  EXPECT_EQ(act(report("a")), Act::kDrop);
  EXPECT_NE(act(report("a", "other")), Act::kDrop);
  now += seconds(60);
  EXPECT_NE(act(report("a")), Act::kDrop);
  EXPECT_EQ(act(report("a")), Act::kDrop);
}

struct Recorder : KubeWorld {
  EventRecorder recorder{client, {.component = "tests", .queue_max = 3, .flush_time = seconds(5)}};
  rt::TaskGroup group{loop};
  Recorder() { group.spawn(recorder.run()); }
  ~Recorder() override {
    group.cancel(rt::CancelReason::kShutdown);
    pass(seconds(1));
  }
};

TEST_F(Recorder, WritesEventsAndCountsThem) {
  recorder.report(report("broken"));
  pass(seconds(1));
  ASSERT_TRUE(api.requests.back().starts_with("POST /api/v1/namespaces/s/events"));
  const codec::Json event = *codec::parse_json(api.last_body);
  EXPECT_EQ(event.find("involvedObject")->find("name")->as_string(), "web");
  EXPECT_EQ(event.find("type")->as_string(), "Warning");
  EXPECT_EQ(event.find("message")->as_string(), "broken");
  recorder.report(report("broken"));
  pass(seconds(1));
  const std::string name = event.find("metadata")->find("name")->as_string();
  EXPECT_EQ(api.stored("events", "s/" + name).find("count")->as_int(), 2);
  EXPECT_EQ(recorder.stats().written, 2u);
}

TEST_F(Recorder, AnEventThatIsGoneIsMadeAnew) {
  recorder.report(report("broken"));
  pass(seconds(1));
  api.fail_next(404, "", "NotFound");
  recorder.report(report("broken"));
  pass(seconds(1));
  EXPECT_TRUE(api.requests.back().starts_with("POST"));
  EXPECT_EQ(recorder.stats().failed, 0u);
}

TEST_F(Recorder, ALongMessageIsCutBetweenCharactersAndAFullQueueCounts) {
  std::string message(1023, 'x');
  message += "\xc3\xa9";
  for (int i = 0; i < 5; ++i) recorder.report(report(message));
  EXPECT_EQ(recorder.stats().dropped, 2u);
  pass(seconds(1));
  EXPECT_EQ(codec::parse_json(api.last_body)->find("message")->as_string(), std::string(1023, 'x'));
}

TEST_F(Recorder, WhatWaitsIsWrittenWhenItStops) {
  recorder.report(report("first", "a"));
  pass(std::chrono::microseconds(500));  // on its way
  EXPECT_EQ(api.counts.writes, 0);
  recorder.report(report("second", "b"));
  recorder.report(report("third", "c"));
  group.cancel(rt::CancelReason::kShutdown);
  pass(seconds(1));
  EXPECT_EQ(group.running(), 0u);
  EXPECT_EQ(recorder.stats().written, 3u);
  EXPECT_EQ(recorder.stats().failed, 0u);
}

TEST_F(Recorder, WhatTheServerDoesNotTakeDoesNotHoldUpTheEnd) {
  api.fail_next(503, "Retry-After: 60\r\n");
  for (int i = 0; i < 3; ++i) recorder.report(report("broken", std::to_string(i)));
  group.cancel(rt::CancelReason::kShutdown);
  pass(milliseconds(4900));
  EXPECT_EQ(group.running(), 1u);
  pass(milliseconds(200));
  EXPECT_EQ(group.running(), 0u);
  EXPECT_EQ(recorder.stats().written, 0u);
  EXPECT_EQ(recorder.stats().failed, 3u);
}

}  // namespace
}  // namespace fairlead::kube
