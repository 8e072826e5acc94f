#include "api/meta.h"

#include <gtest/gtest.h>

#include "api/pod_spec.h"
#include "api/testing.h"

namespace fairlead::api {
namespace {

TEST(Kind, NamesItsApiVersion) {
  EXPECT_EQ((Kind{"apps", "v1", "Deployment", "deployments"}).api_version(), "apps/v1");
  EXPECT_EQ((Kind{"", "v1", "Pod", "pods"}).api_version(), "v1");
}

TEST(ObjectMeta, KeepsWhatItDoesNotName) {
  const auto meta = read<ObjectMeta>(json(
      R"({"name":"a","namespace":"b","selfLink":"/x","managedFields":[{"manager":"m"}],"labels":null})"));
  ASSERT_TRUE(meta.ok());
  EXPECT_EQ(meta->namespace_, "b");
  EXPECT_EQ(write(*meta),
            R"({"name":"a","namespace":"b","selfLink":"/x","managedFields":[{"manager":"m"}]})");
}

TEST(ObjectMeta, FindsTheOwnerThatManages) {
  ObjectMeta meta;
  meta.ownerReferences = {{.name = "one"}, {.name = "two", .controller = true}};
  ASSERT_NE(meta.controller(), nullptr);
  EXPECT_EQ(meta.controller()->name, "two");
  meta.ownerReferences.pop_back();
  EXPECT_EQ(meta.controller(), nullptr);
}

TEST(Conditions, KeepTheTransitionTimeWhileTheStatusStays) {
  std::vector<Condition> conditions;
  const Condition first{
      "Ready", ConditionStatus::False, 1, *Time::parse("2026-01-01T00:00:00Z"), "A", "a"};
  EXPECT_TRUE(set_condition(conditions, first));
  Condition second = first;
  second.lastTransitionTime = *Time::parse("2026-01-02T00:00:00Z");
  EXPECT_FALSE(set_condition(conditions, second));
  second.reason = "B";
  EXPECT_TRUE(set_condition(conditions, second));
  EXPECT_EQ(find_condition(conditions, "Ready")->lastTransitionTime, first.lastTransitionTime);
  second.status = ConditionStatus::True;
  EXPECT_TRUE(set_condition(conditions, second));
  EXPECT_EQ(find_condition(conditions, "Ready")->lastTransitionTime, second.lastTransitionTime);
  EXPECT_EQ(find_condition(conditions, "Other"), nullptr);
}

TEST(PodSpec, ReadsAndChangesWithoutLosingFields) {
  const PodSpec spec{
      json(R"({"future":{"x":1},"containers":[{"name":"a","image":"i"}],"nodeName":"n"})")};
  ASSERT_EQ(spec.containers().size(), 1U);
  EXPECT_EQ(text_at(spec.containers()[0], "image"), "i");
  EXPECT_EQ(spec.node_name(), "n");
  EXPECT_TRUE(spec.init_containers().empty());
  EXPECT_FALSE(spec.termination_grace_period_seconds());
  const PodSpec changed =
      spec.with("nodeName", Json()).with("terminationGracePeriodSeconds", Json::integer(5));
  EXPECT_EQ(
      to_string(changed.json),
      R"({"future":{"x":1},"containers":[{"name":"a","image":"i"}],"terminationGracePeriodSeconds":5})");
  EXPECT_EQ(changed.termination_grace_period_seconds(), 5);
}

}  // namespace
}  // namespace fairlead::api
