// Requests of all kinds, with each way to say who we are, and writers in each other's way.
#include <fmt/format.h>

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

rt::Task<base::Result<>> add_one(Client& client, Target target, int& conflicts) {
  while (true) {
    const base::Result<ObjectPtr> now = co_await client.get(target);
    if (!now) co_return now.error();
    const int n = std::stoi((*now)->tree()->find("data")->find("n")->as_string());
    const std::string json =
        fmt::format(R"({{"metadata":{{"name":"{}","resourceVersion":"{}"}},"data":{{"n":"{}"}}}})",
                    target.name, (*now)->resource_version(), n + 1);
    const base::Result<ObjectPtr> written = co_await client.update(target, json, {});
    if (written) co_return base::Result<>();
    if (written.error().code() != ErrorCode::kConflict) co_return written.error();
    ++conflicts;
  }
}

rt::Task<base::Result<>> add(Client& client, Target target, int times, int& conflicts) {
  for (int i = 0; i < times; ++i) {
    const base::Result<> added = co_await add_one(client, target, conflicts);
    if (!added) co_return added.error();
  }
  co_return base::Result<>();
}

rt::Task<base::Result<>> add_from_many(rt::Loop& loop, Client& client, Target target,
                                       int& conflicts) {
  rt::TaskGroup group(loop);
  for (int i = 0; i < 8; ++i) group.spawn(add(client, target, 125, conflicts));
  co_return co_await group.join();
}

TEST_F(RealApi, OfAThousandConflictingUpdatesFromEightWritersNoneIsLost) {
  ASSERT_TRUE(run(client.create({kConfigMaps, space}, config_map("counter", "0"), {})));
  int conflicts = 0;
  const Target counter{kConfigMaps, space, "counter"};
  const base::Result<> added = run(add_from_many(loop, client, counter, conflicts));
  ASSERT_TRUE(added) << added.error().describe();
  const auto end = run(client.get(counter));
  EXPECT_EQ((*end)->tree()->find("data")->find("n")->as_string(), "1000");
  EXPECT_GT(conflicts, 0);
}

}  // namespace
}  // namespace fairlead::kube
