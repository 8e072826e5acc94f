#include "router/json_refusal.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "codec/json.h"

namespace fairlead::router {
namespace {

TEST(JsonRefusal, SaysWhatTheKthenaRouterSays) {
  struct Case {
    std::string_view body, words;
  };
  const Case cases[] = {
      {"", "EOF"},
      {" \n", "EOF"},
      {"{", "unexpected EOF"},
      {R"({"model":"a)", "unexpected EOF"},
      {"{oops", "invalid character 'o' looking for beginning of object key string"},
      {R"({"a":1,})", "invalid character '}' looking for beginning of object key string"},
      {R"({"a" 1})", "invalid character '1' after object key"},
      {R"({"a":1 "b":2})", "invalid character '\"' after object key:value pair"},
      {R"({"a":})", "invalid character '}' looking for beginning of value"},
      {R"({"a":[1 2]})", "invalid character '2' after array element"},
      {R"({"a":[1,]})", "invalid character ']' looking for beginning of value"},
      {R"({'a':1})", R"(invalid character '\'' looking for beginning of object key string)"},
      {R"({"a":tru})", "invalid character '}' in literal true (expecting 'e')"},
      {R"({"a":nul)", "unexpected EOF"},
      {R"({"a":-x})", "invalid character 'x' in numeric literal"},
      {R"({"a":01})", "invalid character '1' after object key:value pair"},
      {R"({"a":1.})", "invalid character '}' after decimal point in numeric literal"},
      {R"({"a":1e})", "invalid character '}' in exponent of numeric literal"},
      {R"({"a":"\x"})", "invalid character 'x' in string escape code"},
      {R"({"a":"\u12g4"})", R"(invalid character 'g' in \u hexadecimal character escape)"},
      {"{\"a\":\"b\nc\"}", R"(invalid character '\n' in string literal)"},
      {"{\"a\":\"b\x01\"}", R"(invalid character '\x01' in string literal)"},
      {"\xef\xbb\xbf{}", "invalid character '\xc3\xaf' looking for beginning of value"},
      {"{} {}", "invalid request body"},
      {"{}\n ", ""},
      {R"({"a":[{},[],"\"\u00e9",-0.5e+3,true,false,null]})", ""},
  };
  for (const Case& c : cases) EXPECT_EQ(json_refusal(c.body), c.words) << c.body;
}

TEST(JsonRefusal, DepthIsBounded) {
  const std::string open(10'000, '[');
  EXPECT_EQ(json_refusal(open), "unexpected EOF");
  EXPECT_EQ(json_refusal(open + "["), "exceeded max depth");
}

// It knows the grammar: what the parser takes, it has nothing to say about, and what it refuses,
// the parser does as well.
TEST(JsonRefusal, AgreesWithTheParserOnMutations) {
  const std::string valid = R"({"model":"a\u00e9\n","n":[-1.5e3 ,0,{"t":true,"f":[false,null]}]})";
  ASSERT_TRUE(codec::parse_json(valid));
  constexpr std::string_view kBytes = "{}[]\",:\\tfn0129.-+eE \x01";
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    base::Random random(seed);
    std::string body = valid;
    const uint64_t changes = 1 + random.below(2);
    for (uint64_t i = 0; i < changes && !body.empty(); ++i) {
      const size_t at = random.below(body.size());
      if (random.below(3) == 0) {
        body.resize(at);
      } else {
        body[at] = kBytes[random.below(kBytes.size())];
      }
    }
    EXPECT_EQ(json_refusal(body).empty(), codec::parse_json(body).ok())
        << "seed " << seed << ": " << body;
  }
}

}  // namespace
}  // namespace fairlead::router
