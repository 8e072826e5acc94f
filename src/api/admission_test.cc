#include "api/admission.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <span>
#include <sstream>
#include <string_view>
#include <vector>

#include "api/custom_resource.h"
#include "api/testing.h"
#include "api/time.h"
#include "api/validate.h"
#include "codec/yaml.h"

namespace fairlead::api {
namespace {

using testing::UnorderedElementsAreArray;

// An error that a case names is a field, or a field and the message of the rule that it breaks.
std::vector<std::string> told(const Json* wanted, const std::vector<FieldError>& errors) {
  std::vector<std::string> with_message;
  std::vector<std::string> texts;
  for (const Json& each : wanted == nullptr ? std::span<const Json>() : wanted->items()) {
    if (each.is_object()) with_message.push_back(each.find("field")->as_string());
  }
  for (const FieldError& error : errors) {
    const bool message = std::count(with_message.begin(), with_message.end(), error.field) > 0;
    texts.push_back(message ? error.field + ": " + error.message : error.field);
  }
  return texts;
}

std::vector<std::string> fields(const std::vector<FieldError>& errors) {
  std::vector<std::string> names;
  for (const FieldError& error : errors) names.push_back(error.field);
  return names;
}

// Durations in one form.
Json one_form(const Json& leaf) {
  const auto duration = Duration::parse(leaf.as_string());
  return leaf.is_string() && duration ? Json::string(duration->text()) : leaf;
}

std::string text_of(const Json& value) { return to_string(sorted(value, one_form)); }

Json object_of(const CustomResource& resource, const Json& spec) {
  return Json::object({{"apiVersion", Json::string(resource.kind.api_version())},
                       {"kind", Json::string(std::string(resource.kind.kind))},
                       {"metadata", json(R"({"name":"a"})")},
                       {"spec", spec}});
}

class AdmissionTable : public testing::TestWithParam<std::string> {};

TEST_P(AdmissionTable, JudgesAsAnApiServerDoes) {
  const CustomResource* resource = nullptr;
  for (const CustomResource& each : custom_resources()) {
    if (each.kind.plural == GetParam()) resource = &each;
  }
  ASSERT_NE(resource, nullptr);
  std::stringstream text;
  text << std::ifstream(fmt::format("{}/admission/{}.yaml", FAIRLEAD_TESTDATA, GetParam())).rdbuf();
  const auto cases = codec::parse_yaml(text.str());
  ASSERT_TRUE(cases.ok()) << cases.error().message();
  ASSERT_FALSE(cases->items().empty());
  std::set<std::string_view> outcomes;
  for (const Json& each : cases->items()) {
    SCOPED_TRACE(each.find("name")->as_string());
    outcomes.insert(each.find("errors") != nullptr   ? "invalid"
                    : each.find("stored") != nullptr ? "defaulted"
                                                     : "valid");
    const Json& spec = *each.find("spec");
    const Json stored = admit_fields(resource->schema, object_of(*resource, spec));
    std::vector<std::string> wanted;
    const Json* refused = each.find("errors");
    for (const Json& e : refused == nullptr ? std::span<const Json>() : refused->items()) {
      wanted.push_back(e.is_object()
                           ? e.find("field")->as_string() + ": " + e.find("message")->as_string()
                           : e.as_string());
    }
    const Json* before = each.find("old");
    Json old;
    if (before != nullptr) {
      old = admit_fields(resource->schema, object_of(*resource, *before));
      EXPECT_THAT(fields(validate(*resource, old, nullptr)), testing::IsEmpty());
    }
    const auto errors = validate(*resource, stored, before == nullptr ? nullptr : &old);
    EXPECT_THAT(told(refused, errors), UnorderedElementsAreArray(wanted)) << describe(errors);
    if (!errors.empty()) continue;
    const Json* expected = each.find("stored");
    EXPECT_EQ(text_of(*stored.find("spec")), text_of(expected == nullptr ? spec : *expected));
    // What is stored can be read, is stable, and is stored the same when it is written.
    EXPECT_EQ(admit_fields(resource->schema, stored), stored);
    const auto written = resource->rewrite(stored, nullptr);
    ASSERT_TRUE(written.ok()) << written.error().message();
    EXPECT_EQ(text_of(admit_fields(resource->schema, json(*written))), text_of(stored));
  }
  EXPECT_THAT(outcomes, testing::ElementsAre("defaulted", "invalid", "valid"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, AdmissionTable,
                         testing::Values("modelservings", "modelboosters", "autoscalingpolicies",
                                         "modelservers", "modelroutes", "externalmodelproviders",
                                         "llminferenceclusters"),
                         [](const auto& param) { return param.param; });

Schema list_schema(std::string_view list_type) {
  Schema schema;
  schema.type = "array";
  schema.list_type = list_type;
  schema.items.emplace_back().type = "string";
  return schema;
}

TEST(Check, FindsRepeatedItemsOfASet) {
  EXPECT_THAT(fields(check(list_schema("set"), json(R"(["a","b","a"])"))),
              testing::ElementsAre("[2]"));
  EXPECT_TRUE(check(list_schema("atomic"), json(R"(["a","a"])")).empty());
}

TEST(Check, CountsCharactersNotBytes) {
  Schema schema;
  schema.type = "string";
  schema.min_length = 2;
  schema.max_length = 3;
  EXPECT_TRUE(check(schema, Json::string("éüö")).empty());
  EXPECT_FALSE(check(schema, Json::string("éüöä")).empty());
  EXPECT_FALSE(check(schema, Json::string("é")).empty());
}

TEST(Check, LeavesTheWidthOfIntegersToReaders) {
  Schema schema;
  schema.type = "integer";
  schema.format = "int32";
  EXPECT_TRUE(check(schema, json("2147483648")).empty());
}

TEST(Check, StopsAtSoManyErrors) {
  std::vector<Json> items(kFieldErrorsMax + 10);
  EXPECT_EQ(check(list_schema(""), Json::array(std::move(items))).size(), kFieldErrorsMax);
}

TEST(Admit, KeepsMetadataAsItIs) {
  const Schema& schema = custom_resources().front().schema;
  const Json object =
      json(R"({"apiVersion":"v","kind":"k","metadata":{"name":"a","anything":null},"extra":1})");
  EXPECT_EQ(to_string(admit_fields(schema, object)),
            R"({"apiVersion":"v","kind":"k","metadata":{"name":"a","anything":null}})");
}

}  // namespace
}  // namespace fairlead::api
