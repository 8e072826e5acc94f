#include "kube/kind.h"

#include <gtest/gtest.h>

#include "api/core.h"
#include "api/model_serving.h"
#include "api/pod.h"
#include "api/testing.h"
#include "kube/testing/kube_world.h"

namespace fairlead::kube {
namespace {

using base::ErrorCode;
using codec::Json;
using std::chrono::seconds;

struct TypedPods : KubeWorld {
  const TypedClient<api::Pod> pods{client};

  template <class T>
  T run(rt::Task<T> task) {
    return loop.block_on(std::move(task));
  }
  api::Pod create(const std::string& name) {
    api::Pod pod;
    pod.metadata.name = name;
    pod.metadata.namespace_ = "s";
    pod.metadata.labels["a"] = "b";
    const auto made = run(pods.create("s", pod, {}));
    EXPECT_TRUE(made) << made.error().describe();
    return made->value;
  }
};

TEST_F(TypedPods, TypedObjectsGoThroughTheirKind) {
  api::Pod web;
  web.metadata.name = "web";
  web.metadata.namespace_ = "s";
  web.spec = web.spec.with("nodeName", codec::Json::string("n1"));
  auto made = run(pods.create("s", web, {}));
  ASSERT_TRUE(made) << made.error().describe();
  EXPECT_EQ(made->value.spec.node_name(), "n1");
  made->value.metadata.labels["a"] = "b";
  ASSERT_TRUE(run(pods.update(made->value, {})));
  EXPECT_EQ(run(pods.update(made->value, {})).error().code(), ErrorCode::kConflict);
  EXPECT_EQ(run(pods.get("s", "web"))->value.metadata.labels.at("a"), "b");
  EXPECT_EQ(run(pods.list_all("s", {}))->items.size(), 1u);
  ASSERT_TRUE(run(
      client.create({kTestPods, "s"},
                    R"({"metadata":{"name":"wrong","namespace":"s"},"status":{"phase":7}})", {})));
  const auto wrong = run(pods.get("s", "wrong"));
  ASSERT_FALSE(wrong);
  EXPECT_TRUE(wrong.error().describe().starts_with("Pod s/wrong: status.phase "))
      << wrong.error().describe();
  EXPECT_FALSE(run(pods.list_all("s", {})));
}

TEST(Kinds, SayWhichResourceTheyAre) {
  EXPECT_EQ(path_of({resource_of<api::Pod>(), "s", "p", "status"}).value(),
            "/api/v1/namespaces/s/pods/p/status");
  EXPECT_EQ(path_of({resource_of<api::ModelServing>(), "s"}).value(),
            "/apis/workload.serving.volcano.sh/v1alpha1/namespaces/s/modelservings");
  EXPECT_EQ(path_of({resource_of<api::Node>(), "", "n"}).value(), "/api/v1/nodes/n");
}

TEST_F(TypedPods, AreListedPageByPage) {
  for (const char* name : {"a", "b", "c", "d", "e"}) create(name);
  const auto all = run(pods.list_all("s", {.limit = 2}));
  ASSERT_TRUE(all) << all.error().describe();
  ASSERT_EQ(all->items.size(), 5u);
  EXPECT_EQ(all->items.back().value.metadata.name, "e");
  EXPECT_EQ(all->resource_version, "105");
  EXPECT_EQ(api.counts.lists, 3);
  const auto first = run(pods.list("s", {.limit = 3}));
  ASSERT_TRUE(first) << first.error().describe();
  EXPECT_EQ(first->items.size(), 3u);
  const auto rest = run(pods.list("s", {.continue_token = first->continue_token}));
  ASSERT_TRUE(rest) << rest.error().describe();
  EXPECT_EQ(rest->items.front().value.metadata.name, "d");
  EXPECT_EQ(rest->continue_token, "");
}

TEST_F(TypedPods, AMergeTouchesWhatIsDifferentAlone) {
  const api::Pod before = create("web");
  api.put("s", "web", R"({"labels":{"a":"b","other":"stays"}})");
  api::Pod after = before;
  after.metadata.labels.erase("a");
  after.metadata.labels["mine"] = "new";
  const auto merged = run(pods.merge(before, after, {.field_manager = "m"}));
  ASSERT_TRUE(merged) << merged.error().describe();
  EXPECT_EQ(api.requests.back(), "PATCH /api/v1/namespaces/s/pods/web?fieldManager=m");
  EXPECT_EQ(api.last_content_type, "application/merge-patch+json");
  EXPECT_EQ(api.last_body, R"({"metadata":{"labels":{"a":null,"mine":"new"}}})");
  const std::map<std::string, std::string> expected{{"mine", "new"}, {"other", "stays"}};
  EXPECT_EQ(merged->value.metadata.labels, expected);

  after = merged->value;
  after.status.phase = "Running";
  ASSERT_TRUE(run(pods.merge(merged->value, after, {}, "status")));
  EXPECT_EQ(api.requests.back(), "PATCH /api/v1/namespaces/s/pods/web/status");
  EXPECT_EQ(api.last_body, R"({"status":{"phase":"Running"}})");
}

TEST_F(TypedPods, ArePatchedByOperations) {
  create("web");
  const auto patched =
      run(pods.patch("s", "web", PatchKind::kJson,
                     R"([{"op":"test","path":"/metadata/labels/a","value":"b"},)"
                     R"({"op":"replace","path":"/metadata/labels/a","value":"c"}])",
                     {}));
  ASSERT_TRUE(patched) << patched.error().describe();
  EXPECT_EQ(api.last_content_type, "application/json-patch+json");
  EXPECT_EQ(patched->value.metadata.labels.at("a"), "c");
  const auto refused = run(pods.patch("s", "web", PatchKind::kJson,
                                      R"([{"op":"test","path":"/metadata/labels/a","value":"b"},)"
                                      R"({"op":"remove","path":"/metadata/labels"}])",
                                      {}));
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(run(pods.get("s", "web"))->value.metadata.labels.at("a"), "c");
}

TEST_F(TypedPods, AreAppliedAndHaveTheirStatusReplaced) {
  api::Pod pod = create("web");
  api::Pod mine;
  mine.metadata.name = "web";
  mine.metadata.namespace_ = "s";
  mine.metadata.labels["mine"] = "x";
  const auto applied =
      run(pods.apply(mine, {.field_manager = "m", .force = WriteOptions::Force::kYes}));
  ASSERT_TRUE(applied) << applied.error().describe();
  EXPECT_EQ(api.requests.back(), "PATCH /api/v1/namespaces/s/pods/web?fieldManager=m&force=true");
  EXPECT_EQ(api.last_content_type, "application/apply-patch+yaml");
  EXPECT_EQ(applied->value.metadata.labels.size(), 2u);
  pod = applied->value;
  pod.status.phase = "Running";
  ASSERT_TRUE(run(pods.update(pod, {}, "status")));
  EXPECT_EQ(api.requests.back(), "PUT /api/v1/namespaces/s/pods/web/status");
  EXPECT_EQ(run(pods.get("s", "web"))->value.status.phase, "Running");
}

TEST_F(TypedPods, AreRemovedUnderConditions) {
  const api::Pod web = create("web");
  EXPECT_EQ(run(pods.remove("s", "web", {.uid = "other"})).error().code(), ErrorCode::kConflict);
  EXPECT_EQ(run(pods.remove("s", "", {})).error().code(), ErrorCode::kInvalidArgument);
  const auto removed = run(pods.remove("s", "web",
                                       {.uid = web.metadata.uid,
                                        .resource_version = web.metadata.resourceVersion,
                                        .propagation = Propagation::kBackground}));
  ASSERT_TRUE(removed) << removed.error().describe();
  EXPECT_NE(api.last_body.find(R"("propagationPolicy":"Background")"), std::string::npos);
  EXPECT_EQ(run(pods.get("s", "web")).error().code(), ErrorCode::kNotFound);
}

TEST_F(TypedPods, AreWatched) {
  create("web");
  auto watch = run(pods.watch("s", {.resource_version = "100", .timeout = seconds(60)}));
  ASSERT_TRUE(watch) << watch.error().describe();
  const auto next = [&] { return run(watch->next(loop.now() + seconds(10))); };
  const auto added = next();
  ASSERT_TRUE(added) << added.error().describe();
  EXPECT_EQ((*added)->type, WatchEvent::Type::kAdded);
  EXPECT_EQ((*added)->what.value.metadata.labels.at("a"), "b");
  EXPECT_EQ((*added)->what.object->resource_version(), "101");

  api.put("s", "web", R"({"labels":{"a":"c"}})");
  api.put("other", "web");
  const auto modified = next();
  ASSERT_TRUE(modified) << modified.error().describe();
  EXPECT_EQ((*modified)->type, WatchEvent::Type::kModified);
  EXPECT_EQ((*modified)->what.value.metadata.labels.at("a"), "c");
  EXPECT_EQ(next().error().code(), ErrorCode::kDeadlineExceeded) << "nothing of other namespaces";

  api.bookmark();
  const auto bookmark = next();
  ASSERT_TRUE(bookmark) << bookmark.error().describe();
  EXPECT_EQ((*bookmark)->type, WatchEvent::Type::kBookmark);
  EXPECT_EQ((*bookmark)->what.object->resource_version(), "103");

  api.erase("s", "web");
  EXPECT_EQ((*next())->type, WatchEvent::Type::kDeleted);
  api.end_watches();
  const auto end = next();
  ASSERT_TRUE(end) << end.error().describe();
  EXPECT_FALSE(*end);
}

TEST_F(TypedPods, AWatchGoesOnAfterAnObjectThatCannotBeRead) {
  auto watch = run(pods.watch("s", {.resource_version = "100", .timeout = seconds(60)}));
  ASSERT_TRUE(watch) << watch.error().describe();
  const auto next = [&] { return run(watch->next(loop.now() + seconds(10))); };
  const std::string wrong = R"({"metadata":{"name":"wrong","namespace":"s"},"status":{"phase":7}})";
  ASSERT_TRUE(run(client.create({kTestPods, "s"}, wrong, {})));
  create("web");
  const auto unread = next();
  EXPECT_EQ(unread.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(unread.error().describe().starts_with("Pod s/wrong: status.phase "))
      << unread.error().describe();
  EXPECT_EQ((*next())->what.value.metadata.name, "web");
  api.say_to_watches(R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}})"
                     "\n");
  EXPECT_EQ(next().error().code(), ErrorCode::kExpired);
}

TEST_F(TypedPods, AreScaledThroughTheKindThatMakesThem) {
  const TypedClient<api::Deployment> deployments(client);
  api::Deployment web;
  web.metadata.name = "web";
  web.metadata.namespace_ = "s";
  web.spec.replicas = 2;
  ASSERT_TRUE(run(deployments.create("s", web, {})));
  const auto scale = run(deployments.scale("s", "web"));
  ASSERT_TRUE(scale) << scale.error().describe();
  EXPECT_EQ(api.requests.back(), "GET /apis/apps/v1/namespaces/s/deployments/web/scale");
  EXPECT_EQ(scale->value.spec.replicas, 2);
  api::Scale wanted = scale->value;
  wanted.spec.replicas = 5;
  const auto scaled = run(deployments.update_scale(wanted, {.field_manager = "m"}));
  ASSERT_TRUE(scaled) << scaled.error().describe();
  EXPECT_EQ(api.requests.back(),
            "PUT /apis/apps/v1/namespaces/s/deployments/web/scale?fieldManager=m");
  EXPECT_EQ(scaled->value.spec.replicas, 5);
  EXPECT_EQ(run(deployments.get("s", "web"))->value.spec.replicas, 5);
  EXPECT_EQ(run(deployments.update_scale(wanted, {})).error().code(), ErrorCode::kConflict);
  wanted.metadata.resourceVersion.clear();
  wanted.spec.replicas = 0;
  ASSERT_TRUE(run(deployments.update_scale(wanted, {})));
  EXPECT_EQ(run(deployments.get("s", "web"))->value.spec.replicas, 0);
}

// Objects of few keys, so that two of them have some in common.
Json random_object(base::Random& random, int depth) {
  std::vector<Json::Member> members;
  for (const char* key : {"a", "b", "c"}) {
    switch (random.below(depth == 0 ? 3 : 5)) {
      case 0:
        break;
      case 1:
        members.emplace_back(key, Json::integer(static_cast<int64_t>(random.below(2))));
        break;
      case 2:
        members.emplace_back(key, Json::array({Json::integer(1), Json()}));
        break;
      default:
        members.emplace_back(key, random_object(random, depth - 1));
    }
  }
  return Json::object(std::move(members));
}

TEST(MergePatch, MakesTheOneOfTheOther) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    base::Random random(seed);
    const Json before = random_object(random, 3);
    const Json after = random_object(random, 3);
    const Json patch = merge_patch(before, after);
    EXPECT_EQ(api::sorted(merged(before, patch)), after)
        << "seed " << seed << ": " << to_string(patch);
    EXPECT_EQ(to_string(merge_patch(before, before)), "{}") << "seed " << seed;
  }
}

}  // namespace
}  // namespace fairlead::kube
