#include "api/rules.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "api/custom_resource.h"
#include "api/pattern.h"
#include "api/testing.h"
#include "api/validate.h"
#include "codec/yaml.h"

namespace fairlead::api {
namespace {

std::string rewritten(const Json& behavior) {
  const auto typed = read<AutoscalingBehavior>(behavior);
  EXPECT_TRUE(typed.ok());
  return typed ? write(*typed) : "";
}

// What the reference lists as one rule: of which fields, in which words, and whether a row breaks
// it.
struct ListedRule {
  std::string fields;  // as a pattern
  std::string_view text;
  bool broken = false;
};

std::vector<ListedRule> listed_rules(const Schema& root) {
  std::vector<ListedRule> listed;
  visit_places(root, "", [&](const std::string& path, const Schema& schema) {
    for (const WebhookRule& rule : schema.webhook_rules) {
      std::string fields = "^";
      for (const char c : fmt::format("{}{}", path, rule.below)) {
        if (c == '[' || c == ']' || c == '.') fields += '\\';
        fields += c == '*' ? ".+" : std::string(1, c);
        if (c == '[') fields += "[0-9]+";
      }
      listed.push_back({fields + '$', rule.text});
    }
  });
  return listed;
}

// False if none of them says so.
bool mark_broken(std::vector<ListedRule>& listed, const FieldError& error) {
  bool found = false;
  for (ListedRule& rule : listed) {
    const bool says = pattern_found(rule.fields, error.field) &&
                      error.message.find(rule.text) != std::string::npos;
    rule.broken = rule.broken || says;
    found = found || says;
  }
  return found;
}

class RulesTable : public testing::TestWithParam<std::string> {};

// Each row keeps the limits and the CEL rules of its definition, so that what is refused is refused
// by a rule of rules.h; and the reference lists each of these, and no other.
TEST_P(RulesTable, JudgesWhatSchemasCannot) {
  const CustomResource* resource = nullptr;
  for (const CustomResource& each : custom_resources()) {
    if (each.kind.plural == GetParam()) resource = &each;
  }
  ASSERT_NE(resource, nullptr);
  std::stringstream text;
  text << std::ifstream(fmt::format("{}/rules/{}.yaml", FAIRLEAD_TESTDATA, GetParam())).rdbuf();
  const auto rows = codec::parse_yaml(text.str());
  ASSERT_TRUE(rows.ok()) << rows.error().message();
  ASSERT_FALSE(rows->items().empty());
  std::vector<ListedRule> listed = listed_rules(resource->schema);
  for (const Json& row : rows->items()) {
    SCOPED_TRACE(row.find("name")->as_string());
    const Json* named = row.find("object");
    const Json object = Json::object(
        {{"apiVersion", Json::string(resource->kind.api_version())},
         {"kind", Json::string(std::string(resource->kind.kind))},
         {"metadata", Json::object({{"name", named == nullptr ? Json::string("a") : *named}})},
         {"spec", *row.find("spec")}});
    Json stored = admit_fields(resource->schema, object);
    EXPECT_THAT(validate(*resource, stored, nullptr), testing::IsEmpty());
    stored = resource->fill_in(stored);
    EXPECT_THAT(validate(*resource, stored, nullptr), testing::IsEmpty());
    EXPECT_EQ(resource->fill_in(stored), stored);
    if (const Json* behavior = row.find("behavior")) {
      EXPECT_EQ(rewritten(*stored.find("spec")->find("behavior")), rewritten(*behavior));
    }
    std::vector<std::string> wanted;
    if (const Json* errors = row.find("errors")) {
      for (const Json& field : errors->items()) wanted.push_back(field.as_string());
    }
    const Operation operation =
        row.find("update") == nullptr ? Operation::kCreate : Operation::kUpdate;
    const std::vector<FieldError> errors = resource->check_rules(stored, operation);
    std::vector<std::string> refused;
    for (const FieldError& error : errors) {
      refused.push_back(error.field);
      EXPECT_TRUE(mark_broken(listed, error)) << "not in the reference: " << describe({error});
    }
    EXPECT_THAT(refused, testing::UnorderedElementsAreArray(wanted)) << describe(errors);
  }
  for (const ListedRule& rule : listed) {
    EXPECT_TRUE(rule.broken) << "no row breaks: " << rule.fields << ' ' << rule.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, RulesTable,
                         testing::Values("modelservings", "modelboosters", "autoscalingpolicies",
                                         "modelservers", "modelroutes", "externalmodelproviders",
                                         "llminferenceclusters"),
                         [](const auto& param) { return param.param; });

const CustomResource& policies() {
  return *find_custom_resource(AutoscalingPolicy::kKind.api_version(), "AutoscalingPolicy");
}

TEST(Rules, TellWhatDashboardsAndScriptsLookFor) {
  const Json policy =
      json(R"({"spec":{"metrics":[{"name":"m","targetValue":"0"},{"name":"m","targetValue":"1"}],)"
           R"("homogeneousTarget":{"minReplicas":1,"maxReplicas":1,"targetRef":{"name":"a"}}}})");
  const std::string told = describe(policies().check_rules(policy, Operation::kCreate));
  EXPECT_THAT(told, testing::HasSubstr("duplicate metric name"));
  EXPECT_THAT(told, testing::HasSubstr("metric target value must be greater than 0"));
}

TEST(Rules, RefuseWhatCannotBeRead) {
  const CustomResource& servings =
      *find_custom_resource(ModelServing::kKind.api_version(), "ModelServing");
  const auto errors = servings.check_rules(
      json(R"({"spec":{"replicas":2147483648,"template":{"roles":[]}}})"), Operation::kCreate);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_THAT(errors[0].message, testing::HasSubstr("spec.replicas"));
  const Json unreadable = json(R"({"spec":{"tolerancePercent":2147483648}})");
  EXPECT_EQ(policies().fill_in(unreadable), unreadable);
}

TEST(Rules, StopAtSoManyErrors) {
  std::string metrics;
  for (size_t i = 0; i < kFieldErrorsMax; ++i) metrics += R"({"name":"m","targetValue":"0"},)";
  metrics.pop_back();
  const auto errors = policies().check_rules(
      json(fmt::format(R"({{"spec":{{"metrics":[{}]}}}})", metrics)), Operation::kCreate);
  EXPECT_EQ(errors.size(), kFieldErrorsMax);
}

}  // namespace
}  // namespace fairlead::api
