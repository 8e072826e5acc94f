#include "codec/yaml.h"

#include <gtest/gtest.h>

namespace fairlead::codec {
namespace {

std::string as_json(std::string_view text) {
  const auto tree = parse_yaml(text);
  return tree ? to_string(*tree) : tree.error().message();
}

TEST(Yaml, PlainScalarsAreTypedAndQuotedOnesAreStrings) {
  EXPECT_EQ(
      as_json("[~, null, true, False, 12, -3, +4, 0x1f, 0o17, 1.5, 1e3, -.5, abc, 1.2.3, 12ab]"),
      R"([null,null,true,false,12,-3,4,31,15,1.5,1000.0,-0.5,"abc","1.2.3","12ab"])");
  EXPECT_EQ(as_json("a: '12'\nb: \"true\"\nc: |\n  x\n  y\nd: !!str 7\n"),
            R"({"a":"12","b":"true","c":"x\ny\n","d":"7"})");
  EXPECT_EQ(as_json("[18446744073709551615, -9223372036854775808, nan, inf, yes, 12:30]"),
            R"([18446744073709551615,-9223372036854775808,"nan","inf","yes","12:30"])");
}

TEST(Yaml, KnowsTheLineOfEveryValue) {
  const auto tree = parse_yaml("# c\na: 1\nb:\n  c: [1,\n    2]\n");
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->find("a")->line(), 2u);
  EXPECT_EQ(tree->find("b")->line(), 3u);
  EXPECT_EQ(tree->find("b")->find("c")->items()[1].line(), 5u);
}

TEST(Yaml, TextThatTheParserCannotPassIsRefused) {
  EXPECT_FALSE(parse_yaml(",a"));
  EXPECT_FALSE(parse_yaml("a: 1\n]\n"));
  EXPECT_FALSE(parse_yaml("}"));
}

TEST(Yaml, EmptyDocumentIsNull) {
  EXPECT_EQ(as_json(""), "null");
  EXPECT_EQ(as_json("# only a comment\n"), "null");
}

TEST(Yaml, ErrorsNameTheLine) {
  EXPECT_EQ(as_json("a: 1\nb: [1\nc: 2\n").substr(0, 10), "YAML line ");
  EXPECT_EQ(as_json("a: 1\nb: 2\na: 3\n"), "YAML line 3: 'a' is repeated");
  EXPECT_EQ(as_json("a: 1\n---\nb: 2\n"), "YAML line 2: only one document is allowed");
  EXPECT_EQ(as_json("? [1]\n: 2\n"), "YAML line 1: a key must be a scalar");
  EXPECT_EQ(as_json("a: &x [*x]\n"), "YAML line 1: an alias within its own anchor");
  EXPECT_EQ(as_json("a: *nowhere\n").substr(0, 12), "YAML line 1:");
  EXPECT_EQ(as_json("a: \xff\n"), "YAML: invalid UTF-8");
}

TEST(Yaml, AliasesAreExpandedWithinTheNodeLimit) {
  EXPECT_EQ(as_json("a: &x {k: 1}\nb: *x\n"), R"({"a":{"k":1},"b":{"k":1}})");
  std::string bomb = "l0: &l0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string to = std::to_string(i - 1);
    bomb += "l" + std::to_string(i) + ": &l" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) bomb += "*l" + to + (j < 9 ? "," : "]\n");
  }
  EXPECT_NE(as_json(bomb).find("too many values"), std::string::npos);
}

TEST(Yaml, DepthIsAcceptedAtTheLimitAndRefusedPastIt) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse_yaml(nested(kYamlDepthMax + 1)));
  EXPECT_FALSE(parse_yaml(nested(kYamlDepthMax + 2)));
  EXPECT_FALSE(parse_yaml(nested(100'000)));
}

TEST(Yaml, SizeIsRefusedPastTheLimit) {
  std::string text = "a: 1\n#";
  text.resize(kYamlBytesMax.count, 'x');
  EXPECT_TRUE(parse_yaml(text));
  text.push_back('x');
  EXPECT_FALSE(parse_yaml(text));
}

TEST(ToYaml, WritesBlocksAndQuotesWhatIsNoPlainWord) {
  const auto json = parse_json(
      R"({"a":{"b":[1,{"c":"x","d":{}},[]],"e":"two words"},"on":"yes","n":null,"t":"1.0","f":[true,2.5]})");
  EXPECT_EQ(to_yaml(*json),
            "a:\n  b:\n  - 1\n  - c: x\n    d: {}\n  - []\n  e: \"two words\"\n\"on\": \"yes\"\n"
            "\"n\": null\nt: \"1.0\"\nf:\n- true\n- 2.5\n");
  EXPECT_EQ(to_yaml(Json::string("a\nb")), "\"a\\nb\"\n");
}

TEST(ToYaml, ReadsBackTheSame) {
  for (
      const char* text :
      {R"({"a":[[1,2],[],[{"b":null}]],"c":{"d":{"e":[{"f":[{}]}]}}})",
       R"(["","~","null","true","y","No","0x1","1e3",".5","- a","a: b","#x","x #y","é","\u0001","\t","'",
            "a/b","x-k","{}","[a]","*a","&a","!a","%a","@a","`a"])",
       R"("")", R"([])", R"({"":{"-":"-"}})"}) {
    const auto json = parse_json(text);
    ASSERT_TRUE(json) << text;
    const auto again = parse_yaml(to_yaml(*json));
    ASSERT_TRUE(again) << to_yaml(*json);
    EXPECT_EQ(to_string(*again), to_string(*json)) << to_yaml(*json);
  }
}

}  // namespace
}  // namespace fairlead::codec
