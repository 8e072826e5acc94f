#include "api/type_info.h"

#include <gtest/gtest.h>

#include "api/describe.h"
#include "api/int_or_string.h"
#include "api/quantity.h"
#include "api/testing.h"

namespace fairlead::api {
namespace {

enum class Color : uint8_t { red, True_ };
BOOST_DESCRIBE_ENUM(Color, red, True_)
const TypeInfo& type_of(const Color*) {
  static const TypeInfo kType = describe_enum<Color>();
  return kType;
}

struct Inner {
  int32_t count = 3;
  std::optional<std::string> note;
};
BOOST_DESCRIBE_STRUCT(Inner, (), (count, note))
const TypeInfo& type_of(const Inner*) {
  static const TypeInfo kType = describe<Inner>(
      {.doc = "inner"}, {field<&Inner::count>({.doc = "c", .default_json = "3", .min = 0}),
                         field<&Inner::note>({.doc = "n"})});
  return kType;
}

struct Outer {
  std::string namespace_;
  Color color = Color::red;
  int64_t big = 0;
  std::vector<Inner> list;
  std::map<std::string, Inner> map;
  std::optional<Inner> maybe;
  Quantity amount;
  IntOrString share;
  Json any;
};
BOOST_DESCRIBE_STRUCT(Outer, (), (namespace_, color, big, list, map, maybe, amount, share, any))
const TypeInfo& type_of(const Outer*) {
  static const TypeInfo kType =
      describe<Outer>({.doc = "outer"},
                      {field<&Outer::namespace_>({.doc = "ns", .required = true}),
                       field<&Outer::color>({.doc = "color"}), field<&Outer::big>({.doc = "big"}),
                       field<&Outer::list>({.doc = "list"}), field<&Outer::map>({.doc = "map"}),
                       field<&Outer::maybe>({.doc = "maybe", .nested_defaults = R"({"count": 9})"}),
                       field<&Outer::amount>({.doc = "amount"}),
                       field<&Outer::share>({.doc = "share"}), field<&Outer::any>({.doc = "any"})});
  return kType;
}

std::string error_of(std::string_view text) {
  const auto outer = read<Outer>(json(text));
  return outer ? "" : outer.error().message();
}

TEST(Described, ReadsWhatItWrites) {
  const std::string text =
      R"({"namespace":"n","color":"True","big":9223372036854775807,"list":[{"count":1},{"count":2,"note":""}],)"
      R"("map":{"a":{"count":1}},"maybe":{"count":5},"amount":"1Gi","share":"20%","any":{"x":[1]}})";
  const auto outer = read<Outer>(json(text));
  ASSERT_TRUE(outer.ok()) << outer.error().message();
  EXPECT_EQ(outer->color, Color::True_);
  EXPECT_EQ(outer->list[1].note, "");
  EXPECT_EQ(write(*outer), text);
}

TEST(Described, LeavesOutWhatIsAbsent) {
  EXPECT_EQ(write(Outer{}), R"({"namespace":"","color":"red","big":0,"amount":"0","share":0})");
}

TEST(Described, TakesNullForAbsent) {
  const auto outer =
      read<Outer>(json(R"({"namespace":null,"list":null,"map":null,"maybe":null,"any":null})"));
  ASSERT_TRUE(outer.ok()) << outer.error().message();
  EXPECT_FALSE(outer->maybe);
}

TEST(Described, NamesTheFieldThatFails) {
  EXPECT_EQ(error_of(R"({})"), "namespace is null: must be given");
  EXPECT_EQ(error_of(R"({"namespace":1})"), "namespace is 1: must be a string (quote it)");
  EXPECT_EQ(error_of(R"({"namespace":"","color":"blue"})"),
            "color is 'blue': must be one of red, True");
  EXPECT_EQ(error_of(R"({"namespace":"","list":[{},{"count":"x"}]})"),
            "list[1].count is 'x': must be an integer from -2147483648 to 2147483647");
  EXPECT_EQ(error_of(R"({"namespace":"","map":{"a":{"note":true}}})"),
            "map.a.note is true: must be a string (quote it)");
  EXPECT_EQ(error_of(R"({"namespace":"","amount":"x"})"),
            "amount is 'x': must be a quantity such as 500m, 2 or 1Gi");
  EXPECT_EQ(error_of(R"({"namespace":"","list":{}})"), "list is {}: must be a list");
  EXPECT_EQ(error_of(R"([])"), "the document is []: must be a mapping of fields");
}

TEST(Described, KeepsIntegersInTheirRange) {
  EXPECT_EQ(error_of(R"({"namespace":"","maybe":{"count":2147483647}})"), "");
  EXPECT_NE(error_of(R"({"namespace":"","maybe":{"count":2147483648}})"), "");
  EXPECT_NE(error_of(R"({"namespace":"","big":9223372036854775808})"), "");
  EXPECT_EQ(error_of(R"({"namespace":"","big":-9223372036854775808})"), "");
  EXPECT_EQ(error_of(R"({"namespace":"","big":3.0})"), "");
  EXPECT_NE(error_of(R"({"namespace":"","big":3.5})"), "");
}

TEST(Described, WarnsOfUnknownFieldsAndReadsOn) {
  std::vector<std::string> warnings;
  const auto outer = read<Outer>(json(R"({"namespace":"","list":[{"cuont":1}]})"), &warnings);
  ASSERT_TRUE(outer.ok());
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0], "list[0].cuont: unknown field");
}

TEST(Described, GivesItsSchema) {
  EXPECT_EQ(
      to_string(to_json(type_of(static_cast<const Inner*>(nullptr)).schema, Descriptions::kKeep)),
      R"({"description":"inner","properties":{"count":{"default":3,"description":"c","format":"int32",)"
      R"("minimum":0,"type":"integer"},"note":{"description":"n","type":"string"}},"type":"object"})");
  const Schema& outer = type_of(static_cast<const Outer*>(nullptr)).schema;
  EXPECT_EQ(outer.property("maybe")->property("count")->default_value, Json::integer(9));
  EXPECT_EQ(outer.property("list")->items.front().property("count")->default_value,
            Json::integer(3));
  EXPECT_EQ(outer.required, std::vector<std::string>{"namespace"});
  EXPECT_TRUE(outer.property("share")->int_or_string);
}

}  // namespace
}  // namespace fairlead::api
