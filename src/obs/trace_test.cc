#include "obs/trace.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/json.h"

namespace fairlead::obs {
namespace {

using std::chrono::seconds;

constexpr std::string_view kExample = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr TraceContext kContext{.trace_high = 0x0af7651916cd43dd,
                                .trace_low = 0x8448eb211c80319c,
                                .span_id = 0xb7ad6b7169203331,
                                .sampled = true};

std::string with(size_t at, std::string_view text) {
  return std::string(kExample).replace(at, text.size(), text);
}

TEST(Traceparent, IsReadAndWrittenAlike) {
  const auto context = parse_traceparent(kExample);
  ASSERT_TRUE(context);
  EXPECT_EQ(*context, kContext);
  std::string out;
  append_traceparent(out, *context);
  EXPECT_EQ(out, kExample);
}

TEST(Traceparent, SaysBySampledFlagAloneWhetherToRecord) {
  EXPECT_FALSE(parse_traceparent(with(53, "00"))->sampled);
  EXPECT_FALSE(parse_traceparent(with(53, "fe"))->sampled);
  EXPECT_TRUE(parse_traceparent(with(53, "ff"))->sampled);
}

TEST(Traceparent, IsRefusedWhereTheRecommendationSaysSo) {
  const std::string zeros(32, '0');
  for (const std::string& bad :
       {std::string(), std::string(kExample.substr(0, 54)), std::string(kExample) + "0",
        std::string(kExample) + "-00", with(0, "ff"), with(0, "0g"), with(0, "0A"), with(2, "_"),
        with(35, "_"), with(52, "_"), with(3, zeros), with(36, zeros.substr(0, 16)),
        with(3, "0AF7"), with(36, "B7"), with(53, "0x"), with(53, " 1"), " " + with(0, "0")}) {
    EXPECT_FALSE(parse_traceparent(bad)) << bad;
  }
}

TEST(Traceparent, OfALaterVersionMayGoOn) {
  EXPECT_EQ(parse_traceparent(with(0, "01")), kContext);
  EXPECT_EQ(parse_traceparent(with(0, "cc") + "-what-the-future-brings"), kContext);
  EXPECT_FALSE(parse_traceparent(with(0, "cc") + ".what"));
}

TEST(SpanJson, HasIdsInHexAndTimesAsStrings) {
  const Field attributes[] = {{"model", "a \"b\""}, {"status", 200}, {"ratio", 0.5}, {"ok", true}};
  std::string out;
  append_span_json(out, {.context = kContext,
                         .parent = 0x0102030405060708,
                         .name = "attempt",
                         .kind = SpanKind::kClient,
                         .start = base::WallTime(seconds(1'795'973'889)),
                         .end = base::WallTime(seconds(1'795'973'890)),
                         .attributes = attributes,
                         .error = "broken\noff"});
  EXPECT_EQ(out,
            R"({"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331",)"
            R"("parentSpanId":"0102030405060708","name":"attempt","kind":3,)"
            R"("startTimeUnixNano":"1795973889000000000","endTimeUnixNano":"1795973890000000000",)"
            R"("attributes":[{"key":"model","value":{"stringValue":"a \"b\""}},)"
            R"({"key":"status","value":{"intValue":"200"}},)"
            R"({"key":"ratio","value":{"doubleValue":0.5}},)"
            R"({"key":"ok","value":{"boolValue":true}}],)"
            R"("status":{"code":2,"message":"broken\noff"}})");
}

TEST(OtlpRequest, HoldsTheSpansOfAllShards) {
  SpanBuffer spans({.shards = 2});
  spans.append(1, {.context = kContext, .name = "b"});
  spans.append(0, {.context = kContext, .name = "a\nb"});
  std::string lines;
  spans.drain(lines);
  const auto request = codec::parse_json(otlp_request(lines, {"router", "1.0", "host"}));
  ASSERT_TRUE(request) << request.error().describe();
  const codec::Json& resource = request->find("resourceSpans")->items()[0];
  EXPECT_EQ(to_string(*resource.find("resource")->find("attributes")->items()[0].find("value")),
            R"({"stringValue":"router"})");
  const auto list = resource.find("scopeSpans")->items()[0].find("spans")->items();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].find("name")->as_string(), "a\nb");
  EXPECT_EQ(list[1].find("name")->as_string(), "b");
  EXPECT_EQ(list[1].find("parentSpanId"), nullptr);
}

TEST(SpanBuffer, DropsAndCountsWhatDoesNotFit) {
  std::string one;
  append_span_json(one, {.context = kContext, .name = "a"});
  SpanBuffer spans({.ring = base::Bytes(2 * (one.size() + 1))});
  for (int i = 0; i < 5; ++i) spans.append(0, {.context = kContext, .name = "a"});
  EXPECT_EQ(spans.dropped(), 3u);
  std::string lines;
  spans.drain(lines);
  EXPECT_EQ(lines, one + "\n" + one + "\n");
}

}  // namespace
}  // namespace fairlead::obs
