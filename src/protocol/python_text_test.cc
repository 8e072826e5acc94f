#include "protocol/python_text.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlead::protocol {
namespace {

std::string repr(std::string_view text) {
  std::string out;
  append_python_repr(out, text);
  return out;
}

// What CPython 3.11 says; -1: it takes the text.
TEST(PythonJsonError, SaysWhatPythonSaysAndWhere) {
  struct Case {
    std::string_view text, message;
    int position;
  };
  const Case cases[] = {
      {"", "Expecting value", 0},
      {"{", "Expecting property name enclosed in double quotes", 1},
      {"{not json", "Expecting property name enclosed in double quotes", 1},
      {"{\"a\"", "Expecting ':' delimiter", 4},
      {"{\"a\":", "Expecting value", 5},
      {"{\"a\":1", "Expecting ',' delimiter", 6},
      {"{\"a\":1,", "Expecting property name enclosed in double quotes", 7},
      {"{\"a\":1,}", "Expecting property name enclosed in double quotes", 7},
      {"{\"a\" 1}", "Expecting ':' delimiter", 5},
      {"[", "Expecting value", 1},
      {"[1", "Expecting ',' delimiter", 2},
      {"[1,", "Expecting value", 3},
      {"[1,]", "Expecting value", 3},
      {"[1 2]", "Expecting ',' delimiter", 3},
      {"\"abc", "Unterminated string starting at", 0},
      {"\"a\\", "Unterminated string starting at", 0},
      {"\"a\\x\"", "Invalid \\escape", 2},
      {"\"a\\u12", "Invalid \\uXXXX escape", 3},
      {"\"a\\u12G4\"", "Invalid \\uXXXX escape", 3},
      {"\"a\\u1234", "Invalid \\uXXXX escape", 3},
      {"\"\001\"", "Invalid control character at", 1},
      {"nul", "Expecting value", 0},
      {"tru", "Expecting value", 0},
      {"-", "Expecting value", 0},
      {"01", "Extra data", 1},
      {"1.", "Extra data", 1},
      {"1e", "Extra data", 1},
      {"1 2", "Extra data", 2},
      {"{} x", "Extra data", 3},
      {"  ", "Expecting value", 2},
      {"{\"\303\251\":1 2}", "Expecting ',' delimiter", 7},
      {"[\"\303\251\\q\"]", "Invalid \\escape", 3},
      {"{\"a\":[1,{\"b\":nope}]}", "Expecting value", 13},
      {"{\"a\":1 \"b\":2}", "Expecting ',' delimiter", 7},
      {"{'a':1}", "Expecting property name enclosed in double quotes", 1},
      {"NaN", "", -1},
      {"[Infinity,-Infinity]", "", -1},
      {"-Infinit", "Expecting value", 0},
      {"\"\\ud800\"", "", -1},
      {"{1:2}", "Expecting property name enclosed in double quotes", 1},
      {"[1,,2]", "Expecting value", 3},
      {"{\"a\":tru}", "Expecting value", 5},
  };
  for (const Case& c : cases) {
    const auto error = python_json_error(c.text);
    EXPECT_EQ(error ? static_cast<int>(error->position) : -1, c.position) << c.text;
    EXPECT_EQ(error ? error->message : "", c.message) << c.text;
  }
}

TEST(PythonJsonError, EndsOnDepthWithoutExhaustingTheStack) {
  EXPECT_TRUE(python_json_error(std::string(1'000'000, '[')).has_value());
}

TEST(PythonRepr, QuotesAndEscapesStringsAsPythonDoes) {
  struct Case {
    std::string_view text, repr;
  };
  const Case cases[] = {
      {"plain", "'plain'"},
      {"it's", "\"it's\""},
      {"say \"hi\"", "'say \"hi\"'"},
      {"both ' and \"", "'both \\' and \"'"},
      {"back\\slash", "'back\\\\slash'"},
      {"new\012line\011tab\015cr", "'new\\nline\\ttab\\rcr'"},
      {"\037\177", "'\\x1f\\x7f'"},
      {"\303\251 \346\274\242 \360\237\230\200", "'\303\251 \346\274\242 \360\237\230\200'"},
      {"\302\240\302\255\342\200\213\342\200\250\357\273\277", "'\\xa0\\xad\\u200b\\u2028\\ufeff'"},
      {"\356\200\200\363\260\200\200\357\277\277", "'\\ue000\\U000f0000\\uffff'"},
  };
  for (const Case& c : cases) EXPECT_EQ(repr(c.text), c.repr);
  EXPECT_EQ(repr(std::string_view("\0", 1)), "'\\x00'");
}

TEST(PythonRepr, PrintsTreesAsPythonDoes) {
  const auto json = codec::parse_json(
      R"({"a":1,"b":-1.0,"c":[true,false,null,"x"],"d":{},"e":[],"f":1e16,"a":2,"g":0.1})");
  ASSERT_TRUE(json.ok());
  std::string out;
  append_python_repr(out, *json);
  EXPECT_EQ(out,
            "{'a': 2, 'b': -1.0, 'c': [True, False, None, 'x'], 'd': {}, 'e': [], 'f': 1e+16, "
            "'g': 0.1}");
}

}  // namespace
}  // namespace fairlead::protocol
