// A control plane with Kubernetes' own controllers and scheduler: what they make of our objects.
#include <gtest/gtest.h>

#include <algorithm>

#include "api/apps.h"
#include "api/core.h"
#include "api/pod.h"
#include "control_plane.h"
#include "kube/informer.h"
#include "kube/kind.h"
#include "rt/task_group.h"

namespace fairlead::kube {
namespace {

constexpr std::chrono::minutes kControllerTime{2};
constexpr const char* kSpace = "default";

// There is no kubelet: the node says of itself what one would say.
base::Result<> add_node(rt::Loop& loop, Client& client, const std::string& name) {
  api::Node node;
  node.metadata.name = name;
  const TypedClient<api::Node> nodes(client);
  base::Result<Typed<api::Node>> made = loop.block_on(nodes.create("", node, {}));
  if (!made) return made.error();
  for (const auto& [resource, amount] : {std::pair("cpu", 4), std::pair("pods", 10)}) {
    made->value.status.capacity[resource] = api::Quantity(amount);
    made->value.status.allocatable[resource] = api::Quantity(amount);
  }
  api::NodeCondition& ready = made->value.status.conditions.emplace_back();
  ready.type = "Ready";
  ready.status = "True";
  made = loop.block_on(nodes.update(made->value, {}, "status"));
  return made ? base::Result<>() : made.error();
}

size_t pods_on(const Store& store, const std::string& node) {
  return static_cast<size_t>(std::ranges::count_if(store.objects(), [&](const auto& entry) {
    const auto pod = decode<api::Pod>(entry.second);
    return pod && pod->value.spec.node_name() == node;
  }));
}

rt::Task<bool> follow_until(rt::Loop& loop, Informer& pods, std::string node, size_t count) {
  rt::TaskGroup group(loop);
  group.spawn(pods.run());
  auto placed = [&] { return pods_on(pods.store(), node) == count; };
  const bool reached = co_await eventually(loop, placed, kControllerTime);
  group.cancel(rt::CancelReason::kShutdown);
  static_cast<void>(co_await group.join());
  co_return reached;
}

TEST(RealControllers, ADeploymentsPodsArePutOnANodeAndItsScaleIsFollowed) {
  ControlPlane whole({"controller-manager", "scheduler"});
  rt::Loop loop;
  net::TcpNetwork network(loop);
  Client client(network, whole.access("admin"), {});
  const base::Result<> added = add_node(loop, client, "node-1");
  ASSERT_TRUE(added) << added.error().describe();
  const Target web{resource_of<api::Deployment>(), kSpace, "web"};
  const auto made =
      loop.block_on(client.create({web.resource, kSpace}, R"({"metadata":{"name":"web"},
      "spec":{"replicas":1,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":
      {"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})",
                                  {}));
  ASSERT_TRUE(made) << made.error().describe();
  Informer pods(client, resource_of<api::Pod>(),
                {.space = kSpace, .selection = {.labels = "app=web"}});
  EXPECT_TRUE(loop.block_on(follow_until(loop, pods, "node-1", 1)));

  const auto scaled = loop.block_on(client.patch(
      {web.resource, kSpace, "web", "scale"}, PatchKind::kMerge, R"({"spec":{"replicas":3}})", {}));
  ASSERT_TRUE(scaled) << scaled.error().describe();
  EXPECT_TRUE(loop.block_on(follow_until(loop, pods, "node-1", 3)));
  for (const auto& [key, object] : pods.store().objects()) {
    const auto pod = decode<api::Pod>(object);
    ASSERT_TRUE(pod) << pod.error().describe();
    const api::OwnerReference* owner = pod->value.metadata.controller();
    ASSERT_NE(owner, nullptr) << key;
    EXPECT_EQ(owner->kind, "ReplicaSet");
    EXPECT_EQ(pod->value.spec.service_account(), "default");
  }
}

}  // namespace
}  // namespace fairlead::kube
