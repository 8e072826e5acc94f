#include "codec/body_scan.h"

#include <gtest/gtest.h>

#include <map>

#include "codec/body_edit.h"
#include "codec/json.h"

namespace fairlead::codec {
namespace {

BodyScan scanned(std::string_view body) {
  auto scan = scan_body(body);
  EXPECT_TRUE(scan) << body << ": " << (scan ? "" : scan.error().message());
  return scan ? *scan : BodyScan{};
}

std::string model_of(std::string_view body) { return body_text(body, scanned(body).model_span); }

std::string with_usage(std::string_view body) {
  const BodyScan scan = scanned(body);
  BodyEdits edits(scan);
  edits.request_usage(body);
  return spliced(body, edits.splices());
}

TEST(BodyScan, FindsWhatRoutingNeeds) {
  const std::string body =
      R"( { "model" : "qwen", "messages":[{"role":"user","content":"hi"}], "stream": true ,)"
      R"("stream_options":{"include_usage":true},"max_tokens":16,"max_completion_tokens":32,"n":2,)"
      R"("user":"u1","cache_salt":"s","priority":-3,"temperature":0.10,"tools":[]} )";
  const BodyScan scan = scanned(body);
  EXPECT_EQ(body_text(body, scan.model_span), "qwen");
  EXPECT_TRUE(scan.streams);
  EXPECT_TRUE(scan.include_usage);
  EXPECT_EQ(scan.max_tokens, 16);
  EXPECT_EQ(scan.max_completion_tokens, 32);
  EXPECT_EQ(scan.n, 2);
  EXPECT_EQ(scan.priority, -3);
  EXPECT_EQ(scan.messages.in(body), R"([{"role":"user","content":"hi"}])");
  EXPECT_EQ(scan.model_span.in(body), "\"qwen\"");
  EXPECT_EQ(body_text(body, scan.user), "u1");
  EXPECT_EQ(body_text(body, scan.cache_salt), "s");
  EXPECT_FALSE(scan.prompt.present());
  EXPECT_EQ(body[scan.after_brace - 1], '{');
}

TEST(BodyScan, LastOfARepeatedKeyWins) {
  constexpr std::string_view body = R"({"model":"a","stream":true,"model":"b","stream":false})";
  const BodyScan scan = scanned(body);
  EXPECT_EQ(body_text(body, scan.model_span), "b");
  EXPECT_FALSE(scan.streams);
  EXPECT_EQ(model_of(R"({"model":"a","model":7})"), "");
  EXPECT_FALSE(
      scanned(R"({"stream_options":{"include_usage":true},"stream_options":{}})").include_usage);
  EXPECT_FALSE(
      scanned(R"({"stream_options":{"include_usage":true,"include_usage":0}})").include_usage);
}

TEST(BodyScan, EscapedKeyIsTheKeyItSpells) {
  EXPECT_EQ(model_of(R"({"\u006dodel":"b"})"), "b");
  EXPECT_EQ(model_of(R"({"model":"a","mode\u006C":"b"})"), "b");
  EXPECT_EQ(model_of(R"({"model\u0000":"b"})"), "");
}

TEST(BodyScan, OnlyTheTopLevelCounts) {
  constexpr std::string_view body =
      R"({"metadata":{"model":"x","stream":true},"a":[{"model":"y"}],"model":"z"})";
  const BodyScan scan = scanned(body);
  EXPECT_EQ(body_text(body, scan.model_span), "z");
  EXPECT_FALSE(scan.streams);
}

TEST(BodyScan, ModelIsDecodedAndHalfASurrogateIsNoName) {
  EXPECT_EQ(model_of(R"({"model":"a\/b\u00e9\ud83d\ude00"})"), "a/bé😀");
  EXPECT_EQ(model_of(R"({"model":"a\ud83d"})"), "");
}

TEST(BodyScan, ReadsScalarsAsLenientlyAsTheEngine) {
  for (const char* yes : {"true", "1", "1.0", "\"true\"", "\"Yes\"", "\"on\""}) {
    EXPECT_TRUE(scanned(std::string("{\"stream\":") + yes + "}").streams) << yes;
  }
  for (const char* no : {"false", "null", "0", "\"no\"", "[]", "{}", "\"\"", "2"}) {
    EXPECT_FALSE(scanned(std::string("{\"stream\":") + no + "}").streams) << no;
  }
  EXPECT_EQ(scanned(R"({"n":"3"})").n, 3);
  EXPECT_EQ(scanned(R"({"n":3.0})").n, 3);
  EXPECT_EQ(scanned(R"({"n":1e2})").n, 100);
  for (const char* none : {"3.5", "null", "1e300", "\"\"", "\"x\"", "true", "[1]"}) {
    EXPECT_FALSE(scanned(std::string("{\"n\":") + none + "}").n.has_value()) << none;
  }
}

TEST(BodyScan, RefusesWhatIsNotExactlyOneStrictObject) {
  for (const char* body : {"",
                           "  ",
                           "null",
                           "[]",
                           "\"x\"",
                           "{",
                           "{}{}",
                           "{} x",
                           "{},",
                           "{\"a\":1,}",
                           "{\"a\":}",
                           "{a:1}",
                           "{\"a\":NaN}",
                           "{\"a\":-Infinity}",
                           "{\"a\":01}",
                           "{\"a\":1.}",
                           "{\"a\":\"\n\"}",
                           "{\"a\":\"\\x\"}",
                           "{\"a\":\"\\u12\"}",
                           "{'a':1}",
                           "{\"a\":1 \"b\":2}",
                           "{/**/}",
                           "\xef\xbb\xbf{}",
                           "{\"a\":\"\xff\"}",
                           "{\"a\":\"\xc0\xaf\"}",
                           "{\"\xed\xa0\x80\":1}",
                           "{\"a\":\"",
                           "{\"a\":tru}",
                           "{\"a\":truex}"}) {
    EXPECT_FALSE(scan_body(body)) << body;
  }
  EXPECT_FALSE(scan_body(std::string_view("{}\0", 3)));
  EXPECT_EQ(scan_body("{\"a\":\n tru}").error().message(),
            "JSON at byte 7 (line 2): expected a value");
  EXPECT_EQ(scan_body("[1]").error().message(), "JSON at byte 0 (line 1): expected an object");
}

TEST(BodyScan, DepthIsAcceptedAtTheLimitAndRefusedPastIt) {
  const auto nested = [](size_t depth) {
    return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_TRUE(scan_body(nested(kJsonDepthMax)));
  EXPECT_FALSE(scan_body(nested(kJsonDepthMax + 1)));
  EXPECT_FALSE(scan_body(std::string(1 << 20, '[')));
}

TEST(BodyScan, NumbersOfAnySizeAndHalfSurrogatesAreTheEnginesToJudge) {
  EXPECT_TRUE(scan_body(R"({"seed":123456789012345678901234567890,"x":1e999})"));
  EXPECT_TRUE(scan_body(R"({"messages":[{"role":"user","content":"cut \ud83d"}]})"));
}

TEST(BodyScan, EveryTruncationIsRefused) {
  const std::string body =
      R"({"model":"m\u00e9","messages":[{"role":"user","content":"é\n"}],"n":-1.5e3,"stream":true})";
  ASSERT_TRUE(scan_body(body));
  for (size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(scan_body(std::string_view(body).substr(0, size))) << size;
  }
}

TEST(BodyEdits, UsageIsMergedIntoWhateverOptionsThereAre) {
  EXPECT_EQ(with_usage(R"({"model":"m"})"),
            R"({"stream_options":{"include_usage":true},"model":"m"})");
  EXPECT_EQ(with_usage("{}"), R"({"stream_options":{"include_usage":true}})");
  EXPECT_EQ(with_usage(R"({"stream_options": null})"),
            R"({"stream_options": {"include_usage":true}})");
  EXPECT_EQ(with_usage(R"({"stream_options":{ }})"),
            R"({"stream_options":{"include_usage":true }})");
  EXPECT_EQ(with_usage(R"({"stream_options":{"x":1}})"),
            R"({"stream_options":{"include_usage":true,"x":1}})");
  EXPECT_EQ(with_usage(R"({"stream_options":{"include_usage":false,"x":1}})"),
            R"({"stream_options":{"include_usage":true,"x":1}})");
  EXPECT_EQ(with_usage(R"({"stream_options":{"include_usage":true,"include_usage":null}})"),
            R"({"stream_options":{"include_usage":true,"include_usage":true}})");
}

TEST(BodyEdits, UsageIsLeftAloneWhereItIsThereOrCannotBe) {
  for (const char* body :
       {R"({"stream_options":{"include_usage":true}})", R"({"stream_options":7})",
        R"({"stream_options":"x"})", R"({"stream_options":[]})"}) {
    EXPECT_EQ(with_usage(body), body);
  }
}

TEST(BodyEdits, ReplacesAndAddsTogetherKeepingEveryOtherByte) {
  const std::string body = R"({ "temperature":0.10, "model":"a","model" : "b" })";
  const BodyScan scan = scanned(body);
  BodyEdits edits(scan);
  edits.set("model", scan.model_span, "\"c\"");
  edits.set("cache_salt", scan.cache_salt, "\"s\"");
  edits.set("priority", scan.priority_span, "1");
  EXPECT_EQ(spliced(body, edits.splices()),
            R"({"cache_salt":"s","priority":1, "temperature":0.10, "model":"a","model" : "c" })");
  BodyEdits none(scan);
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(spliced(body, none.splices()), body);
}

TEST(BodyEdits, UsageGoesTogetherWithOtherMembersThatAreAdded) {
  for (const bool usage_first : {true, false}) {
    for (const auto& [body, want] : std::map<std::string, std::string>{
             {"{}", usage_first ? R"({"stream_options":{"include_usage":true},"a":1})"
                                : R"({"a":1,"stream_options":{"include_usage":true}})"},
             {R"({"x":0})", usage_first
                                ? R"({"stream_options":{"include_usage":true},"a":1,"x":0})"
                                : R"({"a":1,"stream_options":{"include_usage":true},"x":0})"},
         }) {
      const BodyScan scan = scanned(body);
      BodyEdits edits(scan);
      if (usage_first) edits.request_usage(body);
      edits.set("a", {}, "1");
      if (!usage_first) edits.request_usage(body);
      EXPECT_EQ(spliced(body, edits.splices()), want);
    }
  }
}

TEST(BodyEdits, TwoMembersIntoAnEmptyObjectAreValid) {
  const BodyScan scan = scanned(" {} ");
  BodyEdits edits(scan);
  edits.set("a", {}, "1");
  edits.set("b", {}, "2");
  EXPECT_EQ(spliced(" {} ", edits.splices()), R"( {"a":1,"b":2} )");
}

}  // namespace
}  // namespace fairlead::codec
