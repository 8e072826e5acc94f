#include <gtest/gtest.h>

#include "api/apps.h"
#include "api/core.h"
#include "api/pod.h"
#include "api/testing.h"
#include "api/volcano.h"
#include "base/random.h"

namespace fairlead::api {
namespace {

template <class T>
T expect_kept(std::string_view text) {
  const Json object = json(text);
  auto view = read<T>(object);
  EXPECT_TRUE(view.ok()) << (view ? "" : view.error().message());
  if (!view) return T{};
  EXPECT_EQ(to_string(sorted(json(write(*view)))), to_string(sorted(object)));
  return *view;
}

TEST(Views, PodKeepsEveryField) {
  const Pod pod = expect_kept<Pod>(
      R"({"apiVersion":"v1","kind":"Pod","new":{"a":[1]},)"
      R"("metadata":{"name":"p","namespace":"n","uid":"u","labels":{"a":"b"},"selfLink":"x",)"
      R"("ownerReferences":[{"apiVersion":"v1","kind":"K","name":"o","uid":"v","controller":true}]},)"
      R"("spec":{"containers":[{"name":"c","image":"i","new":1}],"nodeName":"m","new":[]},)"
      R"("status":{"phase":"Running","podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}],"qosClass":"Burstable",)"
      R"("startTime":"2026-11-30T08:00:00Z",)"
      R"("conditions":[{"type":"Ready","status":"True","lastProbeTime":null,)"
      R"("lastTransitionTime":"2026-11-30T08:00:00Z"}],)"
      R"("containerStatuses":[{"name":"c","ready":true,"restartCount":2,"imageID":"d","started":true,)"
      R"("image":"i","state":{"running":{"startedAt":"2026-11-30T08:00:00Z"}}}]}})");
  EXPECT_EQ(pod.metadata.controller()->name, "o");
  EXPECT_EQ(pod.spec.node_name(), "m");
  EXPECT_EQ(pod.status.phase, "Running");
  EXPECT_EQ(pod.status.containerStatuses.at(0).restartCount, 2);
}

TEST(Views, CoreKindsKeepEveryField) {
  const Service service = expect_kept<Service>(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"clusterIP":"None",)"
      R"("selector":{"a":"b"},"ports":[{"name":"h","port":80,"targetPort":"http","protocol":"TCP",)"
      R"("appProtocol":"x"}],"ipFamilies":["IPv4"]},"status":{"loadBalancer":{}}})");
  EXPECT_EQ(service.spec.ports.at(0).targetPort->text(), "http");
  const EndpointSlice slice = expect_kept<EndpointSlice>(
      R"({"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"e"},)"
      R"("addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"],"conditions":{"ready":true,)"
      R"("serving":true,"terminating":false},"nodeName":"n","hints":{"forZones":[{"name":"z"}]},)"
      R"("targetRef":{"kind":"Pod","name":"p","namespace":"n","uid":"u"}}],)"
      R"("ports":[{"name":"h","port":80,"protocol":"TCP"}]})");
  EXPECT_EQ(slice.endpoints.at(0).conditions.terminating, false);
  EXPECT_EQ(expect_kept<ConfigMap>(
                R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"k":""}})")
                .data.at("k"),
            "");
  EXPECT_EQ(expect_kept<Secret>(R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},)"
                                R"("type":"Opaque","data":{"k":"dg=="},"immutable":true})")
                .type,
            "Opaque");
  const Node node = expect_kept<Node>(
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"spec":{"podCIDR":"10.0.0.0/24",)"
      R"("unschedulable":true,"taints":[{"key":"k","effect":"NoSchedule"}]},"status":{"capacity":)"
      R"({"cpu":"4","memory":"16Gi","nvidia.com/gpu":"8"},"allocatable":{"cpu":"3900m"},)"
      R"("nodeInfo":{"arch":"amd64"},"addresses":[{"type":"InternalIP","address":"10.0.0.1"}]}})");
  EXPECT_EQ(node.status.allocatable.at("cpu").milli_value(), 3900);
  const Event event = expect_kept<Event>(
      R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"e"},"involvedObject":{"kind":"Pod",)"
      R"("name":"p"},"reason":"R","message":"m","type":"Normal","count":3,)"
      R"("firstTimestamp":"2026-11-30T08:00:00Z","lastTimestamp":"2026-11-30T08:00:01Z",)"
      R"("eventTime":"2026-11-30T08:00:00.000001Z","source":{"component":"c"},)"
      R"("series":{"count":2,"lastObservedTime":"2026-11-30T08:00:00.500000Z"}})");
  EXPECT_EQ(event.series->count, 2);
  expect_kept<Namespace>(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"},)"
                         R"("spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}})");
}

TEST(Views, AppsKeepEveryField) {
  const Deployment deployment = expect_kept<Deployment>(
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":0,)"
      R"("selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},)"
      R"("spec":{"containers":[]}},"progressDeadlineSeconds":600},"status":{"readyReplicas":1,)"
      R"("conditions":[{"type":"Available"}]}})");
  EXPECT_EQ(deployment.spec.replicas, 0);
  const Scale scale = expect_kept<Scale>(
      R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},)"
      R"("spec":{"replicas":3,"x":1},"status":{"replicas":2,"selector":"a=b","y":2}})");
  EXPECT_EQ(scale.status.selector, "a=b");
  // Servers leave zeros out.
  EXPECT_EQ(read<Scale>(json(R"({"kind":"Scale","spec":{}})"))->spec.replicas, 0);
  EXPECT_EQ(expect_kept<ControllerRevision>(
                R"({"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"r"},)"
                R"("data":{"spec":{"x":1}},"revision":7})")
                .revision,
            7);
  EXPECT_EQ(
      expect_kept<Lease>(
          R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"l"},)"
          R"("spec":{"holderIdentity":"h","leaseDurationSeconds":15,)"
          R"("renewTime":"2026-11-30T08:00:00.123456Z","leaseTransitions":1,"strategy":"x"}})")
          .spec.renewTime->text(),
      "2026-11-30T08:00:00.123456Z");
}

TEST(Views, VolcanoKindsKeepEveryField) {
  const PodGroup group = expect_kept<PodGroup>(
      R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"PodGroup","metadata":{"name":"g"},)"
      R"("spec":{"minMember":2,"minTaskMember":{"a-0":1},"queue":"default","minResources":{"cpu":"2"},)"
      R"("networkTopology":{"mode":"hard","highestTierAllowed":1},"subGroupPolicy":[{"name":"s",)"
      R"("labelSelector":{"matchLabels":{"a":"b"}},"subGroupSize":2}]},"status":{"phase":"Running",)"
      R"("running":2,"conditions":[{"type":"Scheduled","status":"True","transitionID":"t"}]}})");
  EXPECT_EQ(group.spec.minTaskMember.at("a-0"), 1);
  EXPECT_EQ(
      expect_kept<Queue>(
          R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"q"},)"
          R"("spec":{"weight":1,"capability":{"cpu":"10"},"guarantee":{"resource":{}}},)"
          R"("status":{"state":"Open"}})")
          .status.state,
      "Open");
  EXPECT_EQ(
      expect_kept<HyperNode>(
          R"({"apiVersion":"topology.volcano.sh/v1alpha1","kind":"HyperNode","metadata":{"name":"h"},)"
          R"("spec":{"tier":1,"members":[{"type":"Node","selector":{"exactMatch":{"name":"n"}}}]},)"
          R"("status":{"nodeCount":1}})")
          .spec.members.at(0)
          .type,
      "Node");
}

TEST(Views, RefuseAnotherKind) {
  const auto pod = read<Pod>(json(R"({"apiVersion":"v1","kind":"Node"})"));
  ASSERT_FALSE(pod.ok());
  EXPECT_EQ(pod.error().message(), "kind is 'Node': must be Pod");
  EXPECT_FALSE(read<Pod>(json(R"({"apiVersion":"v2","kind":"Pod"})")).ok());
  EXPECT_TRUE(read<Pod>(json("{}")).ok());
}

Json random_json(base::Random& random, int depth) {
  switch (random.below(depth == 0 ? 3 : 5)) {
    case 0:
      return Json::integer(static_cast<int64_t>(random.below(1000)));
    case 1:
      return Json::string(std::string(random.below(3) + 1, 'x'));
    case 2:
      return Json::boolean(random.below(2) == 0);
    case 3: {
      std::vector<Json> items;
      for (uint64_t left = random.below(3) + 1; left > 0; --left) {
        items.push_back(random_json(random, depth - 1));
      }
      return Json::array(std::move(items));
    }
    default: {
      std::vector<Json::Member> members;
      for (uint64_t i = random.below(3) + 1; i > 0; --i) {
        members.emplace_back("key" + std::to_string(i), random_json(random, depth - 1));
      }
      return Json::object(std::move(members));
    }
  }
}

TEST(Views, KeepAnythingThatTheyDoNotName) {
  base::Random random(17);
  for (int i = 0; i < 2000; ++i) {
    const std::string extra = to_string(random_json(random, 4));
    expect_kept<Pod>(R"({"apiVersion":"v1","kind":"Pod","x":)" + extra +
                     R"(,"metadata":{"name":"p","x":)" + extra + R"(},"spec":{"x":)" + extra +
                     R"(},"status":{"x":)" + extra +
                     R"(,"conditions":[{"type":"t","status":"s","x":)" + extra + "}]}}");
  }
}

}  // namespace
}  // namespace fairlead::api
