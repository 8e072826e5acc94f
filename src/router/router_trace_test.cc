// Traces of whole requests: what engines are told, and what a collector gets.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "codec/json.h"
#include "router/testing/router_world.h"

namespace fairlead::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kTrace = "0af7651916cd43dd8448eb211c80319c";
const std::string kCaller = "b7ad6b7169203331";
const std::string kSampled = "00-" + kTrace + "-" + kCaller + "-01";

struct SeenSpan {
  std::string name, trace, id, parent, status_message;
  int64_t start = 0, end = 0;
  std::map<std::string, std::string> attributes;
};

class RouterTrace : public RouterTest {
 protected:
  void start_traced(RouterConfig config = {}) {
    collector_ = &engine(9);
    config.backend.clear();
    for (const FakeEngine& e : engines_) {
      if (&e != collector_) config.backend.push_back("http://" + net::to_string(e.address()));
    }
    config.otlp_endpoint = url(9);
    collector_->script = answer(200, "{}");
    start(std::move(config));
  }

  Ask traced(std::string body, const std::string& traceparent, const std::string& more = "") {
    Ask request = post(std::move(body));
    request.fields += "Traceparent: " + traceparent + "\r\n" + more;
    return request;
  }

  // All spans that the collector has taken, in the order in which they ended.
  std::vector<SeenSpan> spans() {
    std::vector<SeenSpan> all;
    for (const FakeEngine::Seen& seen : collector_->seen) {
      const auto request = codec::parse_json(seen.body);
      EXPECT_TRUE(request) << seen.body;
      if (!request) continue;
      const codec::Json& scope =
          request->find("resourceSpans")->items()[0].find("scopeSpans")->items()[0];
      for (const codec::Json& span : scope.find("spans")->items()) all.push_back(read(span));
    }
    return all;
  }

  FakeEngine* collector_ = nullptr;

 private:
  static std::string text(const codec::Json& object, const char* key) {
    const codec::Json* value = object.find(key);
    return value == nullptr ? "" : value->as_string();
  }
  static SeenSpan read(const codec::Json& json) {
    SeenSpan span{.name = text(json, "name"),
                  .trace = text(json, "traceId"),
                  .id = text(json, "spanId"),
                  .parent = text(json, "parentSpanId"),
                  .status_message = {},
                  .start = std::stoll(text(json, "startTimeUnixNano")),
                  .end = std::stoll(text(json, "endTimeUnixNano")),
                  .attributes = {}};
    if (const codec::Json* status = json.find("status"))
      span.status_message = text(*status, "message");
    for (const codec::Json& attribute : json.find("attributes")->items()) {
      span.attributes[text(attribute, "key")] =
          attribute.find("value")->members()[0].second.as_string();
    }
    return span;
  }
};

std::vector<std::string> names(const std::vector<SeenSpan>& spans) {
  std::vector<std::string> out;
  for (const SeenSpan& span : spans) out.push_back(span.name);
  return out;
}

TEST_F(RouterTrace, PassesTheClientsFieldsAsTheyAreWhileItIsOff) {
  FakeEngine& a = engine(1);
  start();
  ask(traced(chat("hi"), "nonsense", "Tracestate: a=1\r\n"));
  EXPECT_EQ(a.seen[0].field("traceparent"), "nonsense");
  EXPECT_EQ(a.seen[0].field("tracestate"), "a=1");
}

TEST_F(RouterTrace, ContinuesTheClientsTraceDownToTheEngine) {
  FakeEngine& a = engine(1);
  start_traced({.access_log = AccessLogFormat::kJson});
  a.script = answer(200, R"({"usage":{"prompt_tokens":7,"completion_tokens":2}})");
  ask(traced(chat("hi"), kSampled, "Tracestate: a=1\r\n"));
  run_for(seconds(2));
  const std::vector<SeenSpan> all = spans();
  ASSERT_THAT(names(all), ElementsAre("pick", "attempt", "request"));
  const SeenSpan& request = all[2];
  EXPECT_EQ(request.parent, kCaller);
  for (const SeenSpan& span : all) {
    EXPECT_EQ(span.trace, kTrace) << span.name;
    EXPECT_LE(span.start, span.end) << span.name;
    EXPECT_EQ(span.status_message, "") << span.name;
    if (&span != &request) {
      EXPECT_EQ(span.parent, request.id) << span.name;
      EXPECT_GE(span.start, request.start) << span.name;
      EXPECT_LE(span.end, request.end) << span.name;
    }
  }
  EXPECT_EQ(request.attributes.at("gen_ai.request.model"), "llama");
  EXPECT_EQ(request.attributes.at("gen_ai.usage.input_tokens"), "7");
  EXPECT_EQ(all[1].attributes.at("fairlead.replica"), "10.0.0.1:8000");
  EXPECT_EQ(all[1].attributes.at("http.response.status_code"), "200");
  EXPECT_EQ(a.seen[0].field("traceparent"), "00-" + kTrace + "-" + all[1].id + "-01");
  EXPECT_EQ(a.seen[0].field("tracestate"), "a=1");
  stop();
  EXPECT_THAT(access_lines_, HasSubstr("\"trace_id\":\"" + kTrace + "\""));
}

TEST_F(RouterTrace, RespectsTheSampledFlag) {
  FakeEngine& a = engine(1);
  start_traced();
  ask(traced(chat("hi"), "00-" + kTrace + "-" + kCaller + "-00"));
  run_for(seconds(3));
  EXPECT_THAT(a.seen[0].field("traceparent"), StartsWith("00-" + kTrace + "-"));
  EXPECT_TRUE(a.seen[0].field("traceparent").ends_with("-00"));
  EXPECT_EQ(collector_->seen.size(), 0U);
}

TEST_F(RouterTrace, BeginsATraceWhereThereIsNoneToContinue) {
  FakeEngine& a = engine(1);
  start_traced();
  ask(chat("hi"));
  ask(traced(chat("hi"), "nonsense", "Tracestate: a=1\r\n"));
  run_for(seconds(2));
  const std::vector<SeenSpan> all = spans();
  ASSERT_EQ(all.size(), 6U);
  EXPECT_NE(all[2].trace, all[5].trace);
  EXPECT_EQ(all[2].parent, "");
  EXPECT_EQ(a.seen[1].field("traceparent"), "00-" + all[5].trace + "-" + all[4].id + "-01");
  EXPECT_EQ(a.seen[1].field("tracestate"), "") << "it belongs to a trace that is not continued";
}

TEST_F(RouterTrace, RecordsAShareOfTheTracesThatBeginHere) {
  engine(1);
  start_traced({.trace_sample_ratio = 0.25});
  for (int i = 0; i < 400; ++i) ask(chat("hi"));
  run_for(seconds(2));
  const size_t count = spans().size() / 3;
  EXPECT_GT(count, 60U);
  EXPECT_LT(count, 140U);
}

TEST_F(RouterTrace, ShowsEveryAttemptWithWhatWentWrong) {
  engine(1);
  engine(2);
  start_traced({.policy = "round-robin"});
  engines_[0].next.push_back(answer(500, "bad"));
  engines_[1].next.push_back(answer(500, "bad"));
  ask(traced(chat("hi"), kSampled));
  run_for(seconds(2));
  const std::vector<SeenSpan> all = spans();
  ASSERT_THAT(names(all), ElementsAre("pick", "attempt", "pick", "attempt", "request"));
  EXPECT_EQ(all[1].attributes.at("http.response.status_code"), "500");
  EXPECT_NE(all[1].status_message, "");
  EXPECT_NE(all[1].id, all[3].id);
  EXPECT_EQ(all[4].attributes.at("http.response.status_code"), "500");
}

TEST_F(RouterTrace, ARequestThatIsRefusedIsOneSpan) {
  engine(1);
  start_traced();
  ask(traced("{}", kSampled));
  run_for(seconds(2));
  ASSERT_THAT(names(spans()), ElementsAre("request"));
  EXPECT_EQ(spans()[0].status_message, "request_parsing");
}

TEST_F(RouterTrace, SendsManySpansInBatches) {
  engine(1);
  start_traced();
  for (int i = 0; i < 200; ++i) send(post(chat("hi")));
  run_for(seconds(3));
  EXPECT_EQ(spans().size(), 600U);
  EXPECT_EQ(collector_->seen.size(), 2U);
  EXPECT_EQ(metric("fairlead_trace_spans_exported_total"), 600);
}

TEST_F(RouterTrace, LosesNoSpanOfABusyRouter) {
  engine(1);
  start_traced();
  // Several times what a ring holds, within an interval.
  for (int i = 0; i < 40; ++i) {
    for (int n = 0; n < 200; ++n) send(post(chat("hi")));
    run_for(milliseconds(25));
  }
  run_for(seconds(3));
  EXPECT_EQ(metric(R"(fairlead_trace_spans_dropped_total{reason="buffer"})"), 0);
  EXPECT_EQ(metric("fairlead_trace_spans_exported_total"), 40 * 200 * 3);
}

TEST_F(RouterTrace, TriesAgainWhereTheCollectorAsksForPatience) {
  engine(1);
  start_traced();
  for (const int status : {503, 429}) collector_->next.push_back(answer(status, ""));
  ask(chat("hi"));
  run_for(seconds(10));
  EXPECT_EQ(collector_->seen.size(), 3U);
  EXPECT_EQ(metric("fairlead_trace_spans_exported_total"), 3);
  EXPECT_EQ(metric(R"(fairlead_trace_spans_dropped_total{reason="export"})"), 0);
}

TEST_F(RouterTrace, DropsAndCountsWhatTheCollectorRefuses) {
  engine(1);
  start_traced();
  collector_->next.push_back(answer(400, ""));
  ask(chat("hi"));
  run_for(seconds(10));
  EXPECT_EQ(collector_->seen.size(), 1U);
  EXPECT_EQ(metric(R"(fairlead_trace_spans_dropped_total{reason="export"})"), 3);
}

TEST_F(RouterTrace, ACollectorThatIsAwayCostsSpansAndNothingElse) {
  engine(1);
  start_traced();
  collector_->kill();
  run_for(milliseconds(10));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(chat("hi")).status, 200);
  run_for(seconds(60));
  EXPECT_EQ(metric(R"(fairlead_trace_spans_dropped_total{reason="export"})"), 15);
  collector_->start();
  EXPECT_EQ(ask(chat("hi")).status, 200);
  run_for(seconds(3));
  EXPECT_EQ(metric("fairlead_trace_spans_exported_total"), 3);
}

TEST_F(RouterTrace, SendsWhatIsLeftWhenItStops) {
  engine(1);
  start_traced();
  ask(chat("hi"));
  EXPECT_EQ(collector_->seen.size(), 0U);
  stop();
  EXPECT_EQ(spans().size(), 3U);
}

}  // namespace
}  // namespace fairlead::router
