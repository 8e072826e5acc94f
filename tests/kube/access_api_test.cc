// Requests of all kinds, with each way to say who we are, and writers in each other's way.
#include <fmt/format.h>

#include <list>

#include "api/apps.h"
#include "control_plane.h"
#include "rt/task_group.h"

namespace fairlead::kube {
namespace {

using base::ErrorCode;

TEST_F(RealApi, TokenCertificateAndUnverifiedServerGetIn) {
  for (const char* context : {"admin", "certificate", "insecure"}) {
    Client other(network, plane.access(context), {});
    const auto version = run(other.get_raw("/version"));
    ASSERT_TRUE(version) << context << ": " << version.error().describe();
    const auto got = run(other.get({kNamespaces, "", space}));
    EXPECT_TRUE(got) << context;
  }
  Client nobody(network, plane.access("nobody"), {});
  EXPECT_EQ(run(nobody.get({kNamespaces, "", space})).error().code(), ErrorCode::kPermissionDenied);
  Access wrong = plane.access("admin");
  wrong.token.data = "wrong";
  Client stranger(network, wrong, {});
  EXPECT_EQ(run(stranger.get({kNamespaces, "", space})).error().code(),
            ErrorCode::kUnauthenticated);
  Access untrusted = plane.access("admin");
  untrusted.authority = {};
  Client careful(network, untrusted, {});
  EXPECT_EQ(run(careful.get_raw("/version")).error().code(), ErrorCode::kUnavailable);
}

TEST_F(RealApi, WritesInEveryWay) {
  const Target all{kConfigMaps, space};
  const Target one{kConfigMaps, space, "a"};
  const auto made = run(client.create(all, config_map("a", "1"), {.field_manager = "t"}));
  ASSERT_TRUE(made) << made.error().describe();
  EXPECT_EQ((*made)->json().find("managedFields"), std::string_view::npos);
  EXPECT_EQ(run(client.create(all, config_map("a", "1"), {})).error().code(),
            ErrorCode::kAlreadyExists);
  const std::string old((*made)->resource_version());
  ASSERT_TRUE(run(client.update(one, config_map("a", "2", old), {})));
  EXPECT_EQ(run(client.update(one, config_map("a", "3", old), {})).error().code(),
            ErrorCode::kConflict);
  ASSERT_TRUE(run(client.patch(one, PatchKind::kMerge, R"({"data":{"m":"x"}})", {})));
  ASSERT_TRUE(run(
      client.patch(one, PatchKind::kJson, R"([{"op":"add","path":"/data/j","value":"y"}])", {})));
  const std::string mine =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"n":"4"}})";
  EXPECT_EQ(
      run(client.patch(one, PatchKind::kApply, mine, {.field_manager = "other"})).error().code(),
      ErrorCode::kConflict);
  const auto applied =
      run(client.patch(one, PatchKind::kApply, mine,
                       {.field_manager = "other", .force = WriteOptions::Force::kYes}));
  ASSERT_TRUE(applied) << applied.error().describe();
  const auto tree = (*applied)->tree();
  EXPECT_EQ(tree->find("data")->find("n")->as_string(), "4");
  EXPECT_EQ(tree->find("data")->find("m")->as_string(), "x");
  EXPECT_EQ(tree->find("data")->find("j")->as_string(), "y");
  EXPECT_EQ(run(client.remove(one, {.uid = "other"})).error().code(), ErrorCode::kConflict);
  const auto removed = run(client.remove(
      one, {.uid = std::string((*applied)->uid()), .propagation = Propagation::kBackground}));
  ASSERT_TRUE(removed) << removed.error().describe();
  EXPECT_EQ(run(client.get(one)).error().code(), ErrorCode::kNotFound);
}

TEST_F(RealApi, ScalesAndWritesStatus) {
  const Resource deployments{
      .group = "apps", .version = "v1", .plural = "deployments", .kind = "Deployment"};
  const auto made = run(client.create({deployments, space}, R"({"metadata":{"name":"d"},
      "spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":
      {"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})",
                                      {}));
  ASSERT_TRUE(made) << made.error().describe();
  const auto scaled = run(client.patch({deployments, space, "d", "scale"}, PatchKind::kMerge,
                                       R"({"spec":{"replicas":3}})", {}));
  ASSERT_TRUE(scaled) << scaled.error().describe();
  EXPECT_EQ(run(client.get({deployments, space, "d"}))
                ->get()
                ->tree()
                ->find("spec")
                ->find("replicas")
                ->as_int(),
            3);
  const auto status = run(client.patch({deployments, space, "d", "status"}, PatchKind::kMerge,
                                       R"({"status":{"observedGeneration":9}})", {}));
  ASSERT_TRUE(status) << status.error().describe();
  EXPECT_EQ((*status)->tree()->find("status")->find("observedGeneration")->as_int(), 9);
}

using ConfigMaps = TypedClient<api::ConfigMap>;

api::ConfigMap map_of(const std::string& space, const std::string& name, const std::string& n) {
  api::ConfigMap map;
  map.metadata.name = name;
  map.metadata.namespace_ = space;
  map.data["n"] = n;
  return map;
}

TEST_F(RealApi, TypedObjectsAreWrittenListedWatchedAndRemoved) {
  const ConfigMaps maps(client);
  for (const char* name : {"a", "b", "c"}) {
    const auto made = run(maps.create(space, map_of(space, name, "1"), {.field_manager = "t"}));
    ASSERT_TRUE(made) << made.error().describe();
  }
  const auto all = run(maps.list_all(space, {.limit = 2}));
  ASSERT_TRUE(all) << all.error().describe();
  ASSERT_EQ(all->items.size(), 3u);
  auto watch = run(maps.watch(
      space, {.resource_version = all->resource_version, .timeout = std::chrono::minutes(1)}));
  ASSERT_TRUE(watch) << watch.error().describe();

  api::ConfigMap b = all->items[1].value;
  api::ConfigMap wanted = b;
  wanted.data["merged"] = "x";
  ASSERT_TRUE(run(maps.merge(b, wanted, {})));
  wanted.data["n"] = "late";
  EXPECT_EQ(run(maps.update(wanted, {})).error().code(), ErrorCode::kConflict);
  const char* operations = R"([{"op":"test","path":"/data/n","value":"1"},)"
                           R"({"op":"replace","path":"/data/n","value":"2"}])";
  ASSERT_TRUE(run(maps.patch(space, "b", PatchKind::kJson, operations, {})));
  EXPECT_EQ(run(maps.patch(space, "b", PatchKind::kJson, operations, {})).error().code(),
            ErrorCode::kInvalidArgument);
  const api::ConfigMap mine = map_of(space, "b", "3");
  EXPECT_EQ(run(maps.apply(mine, {.field_manager = "other"})).error().code(), ErrorCode::kConflict);
  const auto applied =
      run(maps.apply(mine, {.field_manager = "other", .force = WriteOptions::Force::kYes}));
  ASSERT_TRUE(applied) << applied.error().describe();
  const std::map<std::string, std::string> expected{{"n", "3"}, {"merged", "x"}};
  EXPECT_EQ(applied->value.data, expected);
  const api::ObjectMeta& now = applied->value.metadata;
  EXPECT_EQ(
      run(maps.remove(space, "b", {.resource_version = b.metadata.resourceVersion})).error().code(),
      ErrorCode::kConflict);
  const auto removed =
      run(maps.remove(space, "b", {.uid = now.uid, .resource_version = now.resourceVersion}));
  ASSERT_TRUE(removed) << removed.error().describe();

  using Type = WatchEvent::Type;
  for (const auto& [type, n] : {std::pair(Type::kModified, "1"), std::pair(Type::kModified, "2"),
                                std::pair(Type::kModified, "3"), std::pair(Type::kDeleted, "3")}) {
    const auto event = run(watch->next(loop.now() + std::chrono::seconds(30)));
    ASSERT_TRUE(event) << event.error().describe();
    ASSERT_TRUE(*event);
    EXPECT_EQ((*event)->type, type);
    EXPECT_EQ((*event)->what.value.metadata.name, "b");
    EXPECT_EQ((*event)->what.value.data.at("n"), n);
  }
}

base::Result<Typed<api::Deployment>> make_deployment(Client& client, const std::string& space) {
  const auto parsed = codec::parse_json(R"({"metadata":{"name":"d"},"spec":{"replicas":1,
      "selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
      "spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  return client.loop().block_on(
      TypedClient<api::Deployment>(client).create(space, *api::read<api::Deployment>(*parsed), {}));
}

TEST_F(RealApi, TypedObjectsAreScaled) {
  const TypedClient<api::Deployment> deployments(client);
  const auto made = make_deployment(client, space);
  ASSERT_TRUE(made) << made.error().describe();
  const auto scale = run(deployments.scale(space, "d"));
  ASSERT_TRUE(scale) << scale.error().describe();
  EXPECT_EQ(scale->value.spec.replicas, 1);
  EXPECT_EQ(scale->value.status.selector, "a=b");
  api::Scale wanted = scale->value;
  for (const int replicas : {3, 0}) {
    wanted.spec.replicas = replicas;
    const auto scaled = run(deployments.update_scale(wanted, {}));
    ASSERT_TRUE(scaled) << scaled.error().describe();
    EXPECT_EQ(run(deployments.scale(space, "d"))->value.spec.replicas, replicas);
    EXPECT_EQ(run(deployments.update_scale(wanted, {})).error().code(), ErrorCode::kConflict);
    wanted = scaled->value;
  }

  EXPECT_EQ(run(deployments.get(space, "d"))->value.spec.replicas, 0);
}

TEST_F(RealApi, TypedObjectsHaveTheirStatusWrittenAndAreRemovedAfterTheirDependents) {
  const TypedClient<api::Deployment> deployments(client);
  const auto before = make_deployment(client, space);
  ASSERT_TRUE(before) << before.error().describe();
  api::Deployment after = before->value;
  after.spec.replicas = 7;
  after.status.observedGeneration = 9;
  const auto merged = run(deployments.merge(before->value, after, {}, "status"));
  ASSERT_TRUE(merged) << merged.error().describe();
  EXPECT_EQ(merged->value.status.observedGeneration, 9);
  EXPECT_EQ(merged->value.spec.replicas, 1) << "the status alone was written";
  after = merged->value;
  after.status.observedGeneration = 10;
  const auto updated = run(deployments.update(after, {}, "status"));
  ASSERT_TRUE(updated) << updated.error().describe();
  EXPECT_EQ(updated->value.status.observedGeneration, 10);

  const auto removed =
      run(deployments.remove(space, "d", {.propagation = Propagation::kForeground}));
  ASSERT_TRUE(removed) << removed.error().describe();
  const auto going = run(deployments.get(space, "d"));
  ASSERT_TRUE(going) << going.error().describe();
  EXPECT_EQ(going->value.metadata.finalizers, std::vector<std::string>{"foregroundDeletion"});
}

rt::Task<base::Result<>> add_one(ConfigMaps maps, std::string space, int& conflicts) {
  while (true) {
    base::Result<Typed<api::ConfigMap>> now = co_await maps.get(space, "counter");
    if (!now) co_return now.error();
    std::string& n = now->value.data["n"];
    n = std::to_string(std::stoi(n) + 1);
    const base::Result<Typed<api::ConfigMap>> written = co_await maps.update(now->value, {});
    if (written) co_return base::Result<>();
    if (written.error().code() != ErrorCode::kConflict) co_return written.error();
    ++conflicts;
  }
}

rt::Task<base::Result<>> add(Client& client, std::string space, int times, int& conflicts) {
  for (int i = 0; i < times; ++i) {
    const base::Result<> added = co_await add_one(ConfigMaps(client), space, conflicts);
    if (!added) co_return added.error();
  }
  co_return base::Result<>();
}

rt::Task<base::Result<>> add_from_all(rt::Loop& loop, std::list<Client>& writers, std::string space,
                                      int& conflicts) {
  rt::TaskGroup group(loop);
  for (Client& writer : writers) group.spawn(add(writer, space, 125, conflicts));
  co_return co_await group.join();
}

TEST_F(RealApi, OfAThousandConflictingUpdatesFromEightWritersNoneIsLost) {
  const ConfigMaps maps(client);
  ASSERT_TRUE(run(maps.create(space, map_of(space, "counter", "0"), {})));
  std::list<Client> writers;
  for (int i = 0; i < 8; ++i) writers.emplace_back(network, plane.access("admin"), ClientOptions{});
  int conflicts = 0;
  const base::Result<> added = run(add_from_all(loop, writers, space, conflicts));
  ASSERT_TRUE(added) << added.error().describe();
  EXPECT_EQ(run(maps.get(space, "counter"))->value.data.at("n"), "1000");
  EXPECT_GT(conflicts, 0);
}

}  // namespace
}  // namespace fairlead::kube
