#include "api/llm_inference_cluster.h"

#include "api/describe.h"
#include "api/rule_texts.h"

namespace fairlead::api {

BOOST_DESCRIBE_ENUM(CacheStrategy, sharded)
BOOST_DESCRIBE_ENUM(EvictionPolicy, lru, ttl, attentionAwareStub)
BOOST_DESCRIBE_ENUM(WarmCache, none, memory, diskStub)
BOOST_DESCRIBE_ENUM(RoutingMode, sessionAffinity)
BOOST_DESCRIBE_ENUM(SignalSource, fake, prometheus)
BOOST_DESCRIBE_ENUM(ShardPhase, Pending, Ready, Degraded)
BOOST_DESCRIBE_STRUCT(ClusterModel, (), (name, image, args, env))
BOOST_DESCRIBE_STRUCT(ClusterRole, (),
                      (replicas, servicePort, podLabels, resources, nodeSelector, tolerations,
                       volumes, volumeMounts))
BOOST_DESCRIBE_STRUCT(ClusterRuntime, (), (prefill, decode))
BOOST_DESCRIBE_STRUCT(ClusterCache, (), (strategy, numShards, evictionPolicy, warmCache))
BOOST_DESCRIBE_STRUCT(ClusterRouting, (), (mode, hashKey, routerReplicas))
BOOST_DESCRIBE_STRUCT(ClusterSignals, (), (source, prometheusURL))
BOOST_DESCRIBE_STRUCT(ClusterTargets, (), (queueDepth, tokensPerSecond, kvHitRatio, gpuMemory))
BOOST_DESCRIBE_STRUCT(ClusterAutoscaling, (), (enabled, minReplicas, maxReplicas, signals, targets))
BOOST_DESCRIBE_STRUCT(LLMInferenceClusterSpec, (), (model, runtime, kvCache, routing, autoscaling))
BOOST_DESCRIBE_STRUCT(ShardStatus, (), (shardID, role, ownerPod, phase, lastHeartbeat))
BOOST_DESCRIBE_STRUCT(ClusterEndpoints, (), (routerURL, decodeService, prefillService))
BOOST_DESCRIBE_STRUCT(LLMInferenceClusterStatus, (),
                      (observedGeneration, replicas, selector, endpoints, shards, conditions))
BOOST_DESCRIBE_STRUCT(LLMInferenceCluster, (), (metadata, spec, status))

std::string child_name(std::string_view cluster, ClusterChild child) {
  constexpr std::string_view kSuffixes[] = {"-router", "-prefill", "-decode", "-shardmap",
                                            "-signals"};
  return std::string(cluster).append(kSuffixes[static_cast<size_t>(child)]);
}

const TypeInfo& type_of(const CacheStrategy*) {
  static const TypeInfo kType = describe_enum<CacheStrategy>();
  return kType;
}

const TypeInfo& type_of(const EvictionPolicy*) {
  static const TypeInfo kType = describe_enum<EvictionPolicy>();
  return kType;
}

const TypeInfo& type_of(const WarmCache*) {
  static const TypeInfo kType = describe_enum<WarmCache>();
  return kType;
}

const TypeInfo& type_of(const RoutingMode*) {
  static const TypeInfo kType = describe_enum<RoutingMode>();
  return kType;
}

const TypeInfo& type_of(const SignalSource*) {
  static const TypeInfo kType = describe_enum<SignalSource>();
  return kType;
}

const TypeInfo& type_of(const ShardPhase*) {
  static const TypeInfo kType = describe_enum<ShardPhase>();
  return kType;
}

const TypeInfo& type_of(const ClusterModel*) {
  using T = ClusterModel;
  static const TypeInfo kType = describe<T>(
      {.doc = "The model and what runs it."},
      {field<&T::name>(
           {.doc = "The name that clients ask for.", .required = true, .min_length = 1}),
       field<&T::image>({.doc = "The engine's image; the simulated engine by default."}),
       field<&T::args>({.doc = "The engine's arguments."}),
       field<&T::env>({.doc = "The engine's environment.",
                       .list_type = "map",
                       .list_map_key = "name",
                       .core = "EnvVar"})});
  return kType;
}

const TypeInfo& type_of(const ClusterRole*) {
  using T = ClusterRole;
  static const TypeInfo kType = describe<T>(
      {.doc = "The pods of one phase."},
      {field<&T::replicas>({.doc = "How many.", .default_json = "1", .min = 0}),
       field<&T::servicePort>(
           {.doc = "The port of their Service.", .default_json = "8000", .min = 1, .max = 65535}),
       field<&T::podLabels>({.doc = "Further labels."}),
       field<&T::resources>({.doc = "What each asks for.", .core = "ResourceRequirements"}),
       field<&T::nodeSelector>({.doc = "Labels of the nodes they may be on."}),
       field<&T::tolerations>(
           {.doc = "Taints that they bear.", .list_type = "atomic", .core = "Toleration"}),
       field<&T::volumes>(
           {.doc = "Their volumes.", .list_type = "map", .list_map_key = "name", .core = "Volume"}),
       field<&T::volumeMounts>({.doc = "Where the volumes are mounted.",
                                .list_type = "map",
                                .list_map_key = "mountPath",
                                .core = "VolumeMount"})});
  return kType;
}

const TypeInfo& type_of(const ClusterRuntime*) {
  using T = ClusterRuntime;
  static const TypeInfo kType = describe<T>(
      {.doc = "The pods of both phases."},
      {field<&T::prefill>({.doc = "The pods that read prompts.",
                           .default_json = "{}",
                           .nested_defaults = R"({"servicePort": 8001})"}),
       field<&T::decode>({.doc = "The pods that write answers.", .default_json = "{}"})});
  return kType;
}

const TypeInfo& type_of(const ClusterCache*) {
  using T = ClusterCache;
  static const TypeInfo kType = describe<T>(
      {.doc = "How conversations are shared out over the pods' KV caches."},
      {field<&T::strategy>({.doc = "How.", .default_json = R"("sharded")"}),
       field<&T::numShards>(
           {.doc = "Into how many shards.", .default_json = "8", .min = 1, .max = 4096}),
       field<&T::evictionPolicy>(
           {.doc = "What leaves a full cache first.", .default_json = R"("lru")"}),
       field<&T::warmCache>(
           {.doc = "What a new owner of a shard begins with.", .default_json = R"("none")"})});
  return kType;
}

const TypeInfo& type_of(const ClusterRouting*) {
  using T = ClusterRouting;
  static const TypeInfo kType = describe<T>(
      {.doc = "How requests find their shard."},
      {field<&T::mode>({.doc = "By conversation.", .default_json = R"("sessionAffinity")"}),
       field<&T::hashKey>({.doc = "The field of a request that names its conversation.",
                           .default_json = R"("conversationId")",
                           .min_length = 1}),
       field<&T::routerReplicas>({.doc = "How many routers.", .default_json = "1", .min = 0})});
  return kType;
}

const TypeInfo& type_of(const ClusterSignals*) {
  using T = ClusterSignals;
  static const TypeInfo kType = describe<T>(
      {.doc = "Where the load is read.",
       .rules = {{.rule = R"(!has(self.source) || self.source != "prometheus" || )"
                          R"((has(self.prometheusURL) && self.prometheusURL != ""))",
                  .message = "prometheusURL is needed where source is prometheus"}}},
      {field<&T::source>(
           {.doc = "fake: from the ConfigMap <name>-signals.", .default_json = R"("fake")"}),
       field<&T::prometheusURL>({.doc = "The server.", .pattern = "^(https?://.+)?$"})});
  return kType;
}

const TypeInfo& type_of(const ClusterTargets*) {
  using T = ClusterTargets;
  static const TypeInfo kType = describe<T>(
      {.doc = "What one decode replica should carry; what is not set is not looked at."},
      {field<&T::queueDepth>({.doc = "Requests that wait.", .min = 1}),
       field<&T::tokensPerSecond>({.doc = "Tokens that it writes.", .min = 1}),
       field<&T::kvHitRatio>(
           {.doc = "A lower share of cache hits adds replicas.", .min = 0, .max = 1}),
       field<&T::gpuMemory>(
           {.doc = "A higher share of memory adds replicas.", .min = 0, .max = 1})});
  return kType;
}

const TypeInfo& type_of(const ClusterAutoscaling*) {
  using T = ClusterAutoscaling;
  static const TypeInfo kType =
      describe<T>({.doc = "Whether decode follows the load.",
                   .rules = {{.rule = "!has(self.minReplicas) || !has(self.maxReplicas) || "
                                      "self.minReplicas <= self.maxReplicas",
                              .message = "minReplicas must not be greater than maxReplicas"}}},
                  {field<&T::enabled>({.doc = "Whether it does.", .default_json = "false"}),
                   field<&T::minReplicas>({.doc = "Never fewer.", .default_json = "1", .min = 0}),
                   field<&T::maxReplicas>({.doc = "Never more.", .default_json = "10", .min = 1}),
                   field<&T::signals>({.doc = "Where the load is read.", .default_json = "{}"}),
                   field<&T::targets>({.doc = "What one replica should carry."})});
  return kType;
}

const TypeInfo& type_of(const LLMInferenceClusterSpec*) {
  using T = LLMInferenceClusterSpec;
  static const TypeInfo kType = describe<T>(
      {.doc = "The model, its pods, their caches and the way to them."},
      {field<&T::model>({.doc = "The model and what runs it.", .required = true}),
       field<&T::runtime>({.doc = "The pods of both phases.", .default_json = "{}"}),
       field<&T::kvCache>({.doc = "How conversations are shared out.", .default_json = "{}"}),
       field<&T::routing>({.doc = "How requests find their shard.", .default_json = "{}"}),
       field<&T::autoscaling>({.doc = "Whether decode follows the load.", .default_json = "{}"})});
  return kType;
}

const TypeInfo& type_of(const ShardStatus*) {
  using T = ShardStatus;
  static const TypeInfo kType =
      describe<T>({.doc = "One shard."},
                  {field<&T::shardID>({.doc = "Its number, from 0.", .required = true, .min = 0}),
                   field<&T::role>({.doc = "The phase of its owner."}),
                   field<&T::ownerPod>({.doc = "The pod that holds its conversations."}),
                   field<&T::phase>({.doc = "Whether the owner serves.", .required = true}),
                   field<&T::lastHeartbeat>({.doc = "When the owner was last seen."})});
  return kType;
}

const TypeInfo& type_of(const ClusterEndpoints*) {
  using T = ClusterEndpoints;
  static const TypeInfo kType =
      describe<T>({.doc = "Where it is reached."},
                  {field<&T::routerURL>({.doc = "For clients."}),
                   field<&T::decodeService>({.doc = "The Service of decode."}),
                   field<&T::prefillService>({.doc = "The Service of prefill."})});
  return kType;
}

const TypeInfo& type_of(const LLMInferenceClusterStatus*) {
  using T = LLMInferenceClusterStatus;
  static const TypeInfo kType = describe<T>(
      {.doc = "What there is."},
      {field<&T::observedGeneration>({.doc = "The metadata.generation this is about."}),
       field<&T::replicas>({.doc = "Decode pods."}),
       field<&T::selector>({.doc = "The decode pods, as text, for autoscalers."}),
       field<&T::endpoints>({.doc = "Where it is reached."}),
       field<&T::shards>(
           {.doc = "Each shard and its owner.", .list_type = "map", .list_map_key = "shardID"}),
       field<&T::conditions>(
           {.doc = "Ready, Degraded and Scaling.", .list_type = "map", .list_map_key = "type"})});
  return kType;
}

const TypeInfo& type_of(const LLMInferenceCluster*) {
  using T = LLMInferenceCluster;
  static const TypeInfo kType = describe_kind<T>(
      {.doc = "Prefill, decode and a router that keeps conversations where their cache is."},
      {field<&T::metadata>({.webhook = {{".name", rule_texts::kServiceNames}}}),
       field<&T::spec>({.required = true}), field<&T::status>({})});
  return kType;
}

}  // namespace fairlead::api
