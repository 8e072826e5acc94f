#include "codec/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "codec/json_scanner.h"
#include "codec/text_run.h"

namespace fairlead::codec {
namespace {

std::string nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

std::string error_of(std::string_view text) {
  const auto json = parse_json(text);
  return json ? "accepted" : json.error().message();
}

TEST(Json, KeepsMemberOrderAndTypes) {
  const auto json = parse_json(R"({"z":1,"a":[true,null,"x\n",1.5],"m":{}})");
  ASSERT_TRUE(json);
  EXPECT_EQ(to_string(*json), R"({"z":1,"a":[true,null,"x\n",1.5],"m":{}})");
  EXPECT_TRUE(json->find("a")->items()[0].as_bool());
  EXPECT_TRUE(json->find("a")->items()[1].is_null());
  EXPECT_EQ(json->find("absent"), nullptr);
}

TEST(Json, RepeatedKeyKeepsFirstPlaceAndLastValue) {
  EXPECT_EQ(to_string(*parse_json(R"({"a":1,"b":2,"\u0061":3})")), R"({"a":3,"b":2})");
  std::string many = "{";
  for (int i = 0; i < 5000; ++i)
    many += "\"k" + std::to_string(i % 100) + "\":" + std::to_string(i) + ",";
  const auto json = parse_json(many + "\"end\":0}");
  ASSERT_TRUE(json);
  EXPECT_EQ(json->members().size(), 101u);
  EXPECT_EQ(json->find("k7")->as_int(), 4907);
}

TEST(Json, KeepsIntegersExact) {
  for (const char* text : {"0", "-1", "9223372036854775807", "-9223372036854775808",
                           "9223372036854775808", "18446744073709551615"}) {
    const auto json = parse_json(text);
    ASSERT_TRUE(json) << text;
    EXPECT_TRUE(json->is_integer());
    EXPECT_EQ(to_string(*json), text);
  }
  EXPECT_EQ(parse_json("18446744073709551615")->as_uint(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(parse_json("18446744073709551615")->as_int(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(parse_json("-5")->as_uint(), 0u);
  EXPECT_EQ(error_of("[1,18446744073709551616]"), "JSON at byte 23 (line 1): number out of range");
}

TEST(Json, DoublesRoundTripAndStayDoubles) {
  base::Random random(1);
  for (int i = 0; i < 10'000; ++i) {
    const double value = std::ldexp(random.normal(), static_cast<int>(random.below(600)) - 300);
    const auto again = parse_json(to_string(Json::number(value)));
    ASSERT_TRUE(again);
    EXPECT_FALSE(again->is_integer());
    EXPECT_EQ(again->as_double(), value);
  }
  EXPECT_EQ(to_string(Json::number(1)), "1.0");
  EXPECT_EQ(to_string(Json::number(1e300)), "1e+300");
  EXPECT_EQ(to_string(Json::number(std::nan(""))), "null");
  EXPECT_EQ(error_of("1e400"), "JSON at byte 5 (line 1): number out of range");
}

TEST(Json, AccessorsOfAnotherTypeReturnEmptyValues) {
  const Json text = Json::string("x");
  EXPECT_EQ(text.as_int(), 0);
  EXPECT_EQ(text.as_double(), 0);
  EXPECT_FALSE(text.as_bool());
  EXPECT_TRUE(text.items().empty());
  EXPECT_EQ(text.find("k"), nullptr);
  EXPECT_EQ(Json::integer(3).as_string(), "");
}

TEST(Json, RefusesWhatIsNotStrictJson) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "}",
                           "[1,]",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{'a':1}",
                           "01",
                           "+1",
                           "1.",
                           ".5",
                           "1e",
                           "-",
                           "NaN",
                           "Infinity",
                           "nul",
                           "tru",
                           "\"\t\"",
                           "\"\\x\"",
                           "\"\\u12g4\"",
                           "\"abc",
                           "[1] [2]",
                           "1 2",
                           "[1 2]",
                           "{\"a\" 1}",
                           "{\"a\"}",
                           "// x\n1",
                           "\xef\xbb\xbf{}",
                           "\"\xff\"",
                           "\"\xed\xa0\x80\"",
                           "\"\xc0\x80\"",
                           "\"\\ud800\"",
                           "\"\\ud800\\u0041\""}) {
    EXPECT_NE(error_of(text), "accepted") << text;
  }
  EXPECT_NE(error_of(std::string_view("1\0", 2)), "accepted");
}

TEST(Json, ErrorNamesByteAndLine) {
  EXPECT_EQ(error_of("{\n\"a\": tru}"), "JSON at byte 7 (line 2): expected a value");
  EXPECT_EQ(error_of("[1,\n2\n3]"), "JSON at byte 6 (line 3): expected ',' or ']'");
  EXPECT_EQ(error_of("[\"a\xffz\"]"), "JSON at byte 3 (line 1): invalid UTF-8");
  EXPECT_EQ(error_of("{} x"), "JSON at byte 3 (line 1): unexpected bytes after the value");
}

TEST(Json, DepthIsAcceptedAtTheLimitAndRefusedPastIt) {
  EXPECT_TRUE(parse_json(nested(kJsonDepthMax)));
  EXPECT_EQ(error_of(nested(kJsonDepthMax + 1)), "JSON at byte 128 (line 1): nested too deeply");
  EXPECT_FALSE(parse_json(nested(3), {.depth = 2}));
}

TEST(Json, SizeIsAcceptedAtTheLimitAndRefusedPastIt) {
  EXPECT_TRUE(parse_json("[1,2]", {.size = base::Bytes(5)}));
  EXPECT_FALSE(parse_json("[1,2]", {.size = base::Bytes(4)}));
}

TEST(JsonWriter, PlacesCommasBySelf) {
  std::string out = "data: ";
  JsonWriter w(out);
  w.begin_object().key("a").begin_array().integer(-1).number(0.5).null().end_array();
  w.key("b").begin_object().end_object().key("c").raw("[1]").key("d").boolean(false).end_object();
  EXPECT_EQ(out, R"(data: {"a":[-1,0.5,null],"b":{},"c":[1],"d":false})");
}

TEST(JsonString, EscapesWhatMustBeAndNothingElse) {
  std::string out;
  append_json_string(out, std::string("a\"\\/\b\f\n\r\t\x01\x1f\x7f é 漢 😀") + '\0');
  EXPECT_EQ(out, "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f é 漢 😀\\u0000\"");
}

TEST(TextRun, StopsAtTheFirstByteThatEndsTheRunWhateverTheAlignment) {
  base::Random random(4);
  for (int round = 0; round < 200'000; ++round) {
    std::string bytes(random.below(200), 'a');
    const uint64_t seldom = round % 2 == 0 ? 16 : 256;
    for (char& c : bytes) {
      if (random.below(seldom) == 0) c = static_cast<char>(random.below(256));
    }
    const char* const end = bytes.data() + bytes.size();
    const char* text = bytes.data();
    while (text != end && !ends_run<RunOf::kText>(static_cast<unsigned char>(*text))) ++text;
    const char* ascii = bytes.data();
    while (ascii != end && !ends_run<RunOf::kAscii>(static_cast<unsigned char>(*ascii))) ++ascii;
    ASSERT_EQ(skip_run<RunOf::kText>(bytes.data(), end), text);
    ASSERT_EQ(skip_run<RunOf::kAscii>(bytes.data(), end), ascii);
  }
}

// Dense in what can be confused with the end of a string or of a container.
std::string random_value(base::Random& random, int depth) {
  const uint64_t kind = random.below(depth == 0 ? 3 : 5);
  std::string text;
  if (kind == 0) return random.below(2) == 0 ? "-1.5e3" : "null";
  if (kind < 3) {
    std::string bytes(random.below(random.below(8) == 0 ? 200 : 8), ' ');
    for (char& c : bytes) c = "{}[]\\\\\\\"\",:a"[random.below(13)];
    append_json_string(text, bytes);
    return text;
  }
  for (uint64_t left = random.below(5); left > 0; --left) {
    if (!text.empty()) text += random.below(4) == 0 ? " ,\n" : ",";
    if (kind == 3) append_json_string(text, "\"{\\");
    if (kind == 3) text += ':';
    text += random_value(random, depth - 1);
  }
  return kind == 3 ? '{' + text + '}' : '[' + text + ']';
}

TEST(JsonScanner, DiscardsExactlyWhatItSkips) {
  base::Random random(6);
  for (int round = 0; round < 20'000; ++round) {
    const std::string value = random_value(random, 6);
    const std::string text = value + ",\"}]";
    JsonScanner skipping(text);
    ASSERT_TRUE(skipping.skip()) << text;
    ASSERT_EQ(skipping.offset(), value.size());
    JsonScanner discarding(text);
    ASSERT_TRUE(discarding.discard()) << text;
    ASSERT_EQ(discarding.offset(), value.size()) << text;

    if (value[0] != '{' && value[0] != '[') continue;
    JsonScanner cut(std::string_view(value).substr(0, random.below(value.size() - 1) + 1));
    ASSERT_FALSE(cut.discard()) << value;
  }
}

TEST(JsonString, AnyBytesGiveValidJsonAndValidTextRoundTrips) {
  base::Random random(2);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes;
    const uint64_t length = random.below(40);
    for (uint64_t i = 0; i < length; ++i) {
      bytes.push_back(
          static_cast<char>(random.below(3) == 0 ? random.below(256) : random.below(128)));
    }
    std::string out;
    append_json_string(out, bytes);
    const auto json = parse_json(out);
    ASSERT_TRUE(json) << out;
    if (valid_utf8(bytes)) EXPECT_EQ(json->as_string(), bytes);
  }
}

}  // namespace
}  // namespace fairlead::codec
