#include "api/cel.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "api/custom_resource.h"
#include "api/testing.h"

namespace fairlead::api {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Schema rule_schema(std::string_view text) {
  auto made = schema_from_json(json(text), Json());
  EXPECT_TRUE(made.ok()) << (made ? "" : made.error().message());
  return made ? *made : Schema();
}

Schema with_rule(Schema made, std::string rule, std::string message = "no") {
  made.rules.push_back({std::move(rule), std::move(message)});
  return made;
}

std::vector<std::string> errors_of(const Schema& made, const Json& object,
                                   const Json* old = nullptr) {
  const auto rules = CelRules::compile(made);
  EXPECT_TRUE(rules.ok()) << (rules ? "" : rules.error().message());
  std::vector<std::string> texts;
  if (!rules) return texts;
  for (const FieldError& error : rules->check(object, old)) {
    texts.push_back(error.field + ": " + error.message);
  }
  return texts;
}

const Schema kInteger = rule_schema(R"({"type":"integer"})");

TEST(CelRules, AskOfTheValueItself) {
  const Schema positive = with_rule(kInteger, "self > 0", "must be positive");
  EXPECT_THAT(errors_of(positive, json("1")), IsEmpty());
  EXPECT_THAT(errors_of(positive, json("0")), ElementsAre(": must be positive"));
}

TEST(CelRules, NameThePlaceThatFails) {
  Schema object = rule_schema(
      R"({"type":"object","properties":{"list":{"type":"array","items":{"type":"integer"}},)"
      R"("map":{"type":"object","additionalProperties":{"type":"integer"}}}})");
  object.property("list")->items.front().rules.push_back({"self > 0", "no"});
  object.property("map")->additional.front().rules.push_back({"self > 0", "no"});
  EXPECT_THAT(errors_of(object, json(R"({"list":[1,0,2,-1],"map":{"a":1,"b":0}})")),
              ElementsAre("list[1]: no", "list[3]: no", "map[b]: no"));
}

TEST(CelRules, OfChangesNeedAValueBefore) {
  Schema object = rule_schema(R"({"type":"object","properties":{"name":{"type":"string"}}})");
  object.property("name")->rules.push_back({"self == oldSelf", "is immutable"});
  const Json a = json(R"({"name":"a"})");
  const Json b = json(R"({"name":"b"})");
  const Json none = json("{}");
  EXPECT_THAT(errors_of(object, a), IsEmpty());
  EXPECT_THAT(errors_of(object, a, &a), IsEmpty());
  EXPECT_THAT(errors_of(object, a, &none), IsEmpty());
  EXPECT_THAT(errors_of(object, none, &a), IsEmpty());
  EXPECT_THAT(errors_of(object, b, &a), ElementsAre("name: is immutable"));
}

TEST(CelRules, PairItemsByKeyInMapsOnly) {
  Schema list = rule_schema(
      R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":)"
      R"({"type":"object","properties":{"k":{"type":"string"},"v":{"type":"integer"}}}})");
  list.items.front().rules.push_back({"self.v >= oldSelf.v", "shrinks"});
  const Json old = json(R"([{"k":"a","v":1},{"k":"b","v":5}])");
  const Json now = json(R"([{"k":"b","v":4},{"k":"a","v":1},{"k":"c","v":0}])");
  EXPECT_THAT(errors_of(list, now, &old), ElementsAre("[0]: shrinks"));
  list.list_type = "atomic";
  EXPECT_THAT(errors_of(list, now, &old), IsEmpty());
}

TEST(CelRules, ThatCannotBeJudgedFail) {
  const Schema object = with_rule(
      rule_schema(R"({"type":"object","properties":{"a":{"type":"string"}}})"), R"(self.a != "")");
  EXPECT_THAT(errors_of(object, json("{}")),
              ElementsAre(testing::StartsWith(": cannot be judged: ")));
}

TEST(CelRules, ReachFieldsWhoseNamesAreWords) {
  const Schema object = with_rule(
      rule_schema(
          R"({"type":"object","properties":{"namespace":{"type":"string"},"a-b":{"type":"string"}}})"),
      R"(self.__namespace__ == self.a__dash__b)");
  EXPECT_THAT(errors_of(object, json(R"({"namespace":"x","a-b":"x"})")), IsEmpty());
  EXPECT_THAT(errors_of(object, json(R"({"namespace":"x","a-b":"y"})")), ElementsAre(": no"));
}

TEST(CelRules, KnowTheFunctionsOfKubernetes) {
  const Schema text = rule_schema(R"({"type":"string"})");
  for (const char* rule :
       {R"(self.matches("^a+$"))", R"(self.startsWith("a"))", R"(self.lowerAscii() == "aa")",
        R"(self.find("a+") == "aa")", R"(["b", self].isSorted() == false)",
        R"(sets.contains(["aa", "b"], [self]))", R"(isQuantity("1Gi"))",
        R"(quantity("1Gi").isGreaterThan(quantity("1M")))", R"(self in ["aa"])",
        R"(size(self) == 2)", R"([1, 2].all(x, x > 0))"}) {
    EXPECT_THAT(errors_of(with_rule(text, rule), json(R"("aa")")), IsEmpty()) << rule;
  }
}

TEST(CelRules, AreRefusedWhereTheyDoNotCompile) {
  for (const char* rule : {"self >", "", "request.user == self", "self.all(x",
                           "lists.range(self).size() > 0", "[1].all(x, x > 0) && x > 0"}) {
    EXPECT_FALSE(CelRules::compile(with_rule(kInteger, rule)).ok()) << rule;
  }
}

TEST(CelRules, AreBoundedInLengthAndDepth) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '(') + "self" + std::string(depth, ')') + " > 0";
  };
  EXPECT_THAT(errors_of(with_rule(kInteger, nested(12)), json("1")), IsEmpty());
  EXPECT_FALSE(CelRules::compile(with_rule(kInteger, nested(13))).ok());
  const auto sum = [](size_t terms) {
    std::string rule = "self >= 0";
    for (size_t i = 0; i < terms; ++i) rule += " + 0";
    return rule;
  };
  EXPECT_THAT(errors_of(with_rule(kInteger, sum(62)), json("1")), IsEmpty());
  EXPECT_FALSE(CelRules::compile(with_rule(kInteger, sum(63))).ok());
  const std::string long_rule = "self > 0" + std::string(2040, ' ');
  EXPECT_THAT(errors_of(with_rule(kInteger, long_rule), json("1")), IsEmpty());
  EXPECT_FALSE(CelRules::compile(with_rule(kInteger, long_rule + ' ')).ok());
}

// What the corpus of the fuzz target holds: among others chains and nests at these bounds.
void* ask_all_of_the_corpus(void* asked) {
  for (const auto& entry : std::filesystem::directory_iterator(FAIRLEAD_TESTDATA "/cel_fuzz")) {
    std::ifstream file(entry.path());
    std::string rule;
    std::string value;
    std::getline(file, rule);
    std::getline(file, value);
    Schema any;
    any.preserve_unknown = true;
    const auto rules = CelRules::compile(with_rule(any, rule));
    if (!rules) continue;
    static_cast<void>(rules->check(json(value), nullptr));
    ++*static_cast<int*>(asked);
  }
  return nullptr;
}

// A thread with half of the usual stack.
TEST(CelRules, NeedLittleStackAtTheirBounds) {
  int asked = 0;
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 4 << 20), 0);
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, &attributes, ask_all_of_the_corpus, &asked), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
  EXPECT_GT(asked, 15);
}

Json ones(size_t count) {
  std::vector<Json> items(count, Json::integer(1));
  return Json::array(std::move(items));
}

TEST(CelRules, AreNotAskedWhereTheyCostTooMuch) {
  const Schema list = with_rule(rule_schema(R"({"type":"array","items":{"type":"integer"}})"),
                                "self.all(x, self.all(y, self.all(z, x - y - z < 0)))");
  EXPECT_THAT(errors_of(list, ones(30)), IsEmpty());
  EXPECT_THAT(errors_of(list, ones(1000)), ElementsAre(": is too large for its rules"));
}

TEST(CelRules, CostOnceForEachOfTwoLists) {
  const Schema list = with_rule(rule_schema(R"({"type":"array","items":{"type":"integer"}})"),
                                "self.all(x, self.all(y, x - y == 0))");
  EXPECT_THAT(errors_of(list, ones(300)), IsEmpty());
  EXPECT_THAT(errors_of(list, ones(600)), ElementsAre(": is too large for its rules"));
}

TEST(CelRules, ShareWhatAnObjectMayCost) {
  Schema list = rule_schema(R"({"type":"array","items":{"type":"string"}})");
  std::string sum = "self";
  for (int i = 0; i < 12; ++i) sum += " + self";  // each may double it
  list.items.front().rules.push_back({"size(" + sum + ") > 0", "no"});
  const Json item = Json::string("a");
  EXPECT_THAT(errors_of(list, Json::array(std::vector<Json>(10, item))), IsEmpty());
  EXPECT_THAT(errors_of(list, Json::array(std::vector<Json>(100, item))),
              ElementsAre(testing::EndsWith("]: is too large for its rules")));
}

TEST(CelRules, CountTheCharactersThatTheyRead) {
  const Schema text = with_rule(rule_schema(R"({"type":"string"})"), R"(self.matches("^a+$"))");
  EXPECT_THAT(errors_of(text, Json::string(std::string(100'000, 'a'))), IsEmpty());
  EXPECT_THAT(errors_of(text, Json::string(std::string(20'000'000, 'a'))),
              ElementsAre(": is too large for its rules"));
}

TEST(CelRules, MayFailWhereAnUpdateLeavesTheValue) {
  const Schema positive = with_rule(kInteger, "self > 0");
  const Json stored = json("0");
  const Json other = json("-1");
  EXPECT_THAT(errors_of(positive, stored, &stored), IsEmpty());
  EXPECT_THAT(errors_of(positive, other, &stored), ElementsAre(": no"));
}

TEST(CelRules, MayFailInListsThatAnUpdateLeaves) {
  Schema list = rule_schema(R"({"type":"array","items":{"type":"integer"}})");
  list.items.front().rules.push_back({"self > 0", "no"});
  const Json stored = json("[1,0]");
  const Json longer = json("[1,0,2]");
  EXPECT_THAT(errors_of(list, stored, &stored), IsEmpty());
  EXPECT_THAT(errors_of(list, longer, &stored), ElementsAre("[1]: no"));
}

TEST(CelRules, CompareFieldsOfAtomicMaps) {
  Schema map = rule_schema(
      R"({"type":"object","x-kubernetes-map-type":"atomic","properties":{"a":{"type":"integer"}}})");
  map.property("a")->rules.push_back({"self == oldSelf", "is immutable"});
  const Json old = json(R"({"a":1})");
  const Json now = json(R"({"a":2})");
  EXPECT_THAT(errors_of(map, now, &old), ElementsAre("a: is immutable"));
}

TEST(CelRules, AskNothingOfNull) {
  Schema object = rule_schema(
      R"({"type":"object","properties":{"a":{"x-kubernetes-preserve-unknown-fields":true}}})");
  object.property("a")->rules.push_back({"self > 0", "no"});
  EXPECT_THAT(errors_of(object, json(R"({"a":null})")), IsEmpty());
}

TEST(CelRules, OfAllKindsCompile) {
  for (const CustomResource& resource : custom_resources()) {
    const auto rules = CelRules::compile(resource.schema);
    EXPECT_TRUE(rules.ok()) << resource.kind.kind << (rules ? "" : rules.error().message());
  }
}

}  // namespace
}  // namespace fairlead::api
