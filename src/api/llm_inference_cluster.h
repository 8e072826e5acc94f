// LLMInferenceCluster: prefill, decode and a router that keeps conversations where their KV cache
// is, in one object.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta.h"
#include "api/time.h"

namespace fairlead::api {

struct ClusterModel {
  std::string name;
  std::string image;
  std::vector<std::string> args;
  std::vector<Json> env;
};

struct ClusterRole {
  std::optional<int32_t> replicas;  // 1
  int32_t servicePort = 8000;
  std::map<std::string, std::string> podLabels;
  Json resources;
  std::map<std::string, std::string> nodeSelector;
  std::vector<Json> tolerations;
  std::vector<Json> volumes;
  std::vector<Json> volumeMounts;
};

struct ClusterRuntime {
  ClusterRole prefill{.servicePort = 8001};
  ClusterRole decode;
};

enum class CacheStrategy : uint8_t { sharded };
enum class EvictionPolicy : uint8_t { lru, ttl, attentionAwareStub };
enum class WarmCache : uint8_t { none, memory, diskStub };

struct ClusterCache {
  CacheStrategy strategy = CacheStrategy::sharded;
  int32_t numShards = 8;
  EvictionPolicy evictionPolicy = EvictionPolicy::lru;
  WarmCache warmCache = WarmCache::none;
};

enum class RoutingMode : uint8_t { sessionAffinity };

struct ClusterRouting {
  RoutingMode mode = RoutingMode::sessionAffinity;
  std::string hashKey = "conversationId";
  int32_t routerReplicas = 1;
};

enum class SignalSource : uint8_t { fake, prometheus };

struct ClusterSignals {
  SignalSource source = SignalSource::fake;
  std::string prometheusURL;
};

struct ClusterTargets {
  std::optional<int32_t> queueDepth;
  std::optional<int32_t> tokensPerSecond;
  std::optional<double> kvHitRatio;
  std::optional<double> gpuMemory;
};

struct ClusterAutoscaling {
  bool enabled = false;
  int32_t minReplicas = 1;
  int32_t maxReplicas = 10;
  ClusterSignals signals;
  ClusterTargets targets;
};

struct LLMInferenceClusterSpec {
  ClusterModel model;
  ClusterRuntime runtime;
  ClusterCache kvCache;
  ClusterRouting routing;
  ClusterAutoscaling autoscaling;
};

enum class ShardPhase : uint8_t { Pending, Ready, Degraded };

struct ShardStatus {
  int32_t shardID = 0;
  std::string role;
  std::string ownerPod;
  ShardPhase phase = ShardPhase::Pending;
  std::optional<Time> lastHeartbeat;
};

struct ClusterEndpoints {
  std::string routerURL;
  std::string decodeService;
  std::string prefillService;
};

struct LLMInferenceClusterStatus {
  std::optional<int64_t> observedGeneration;
  std::optional<int32_t> replicas;  // of decode
  std::string selector;             // of decode's pods, as text
  ClusterEndpoints endpoints;
  std::vector<ShardStatus> shards;
  std::vector<Condition> conditions;  // Ready, Degraded, Scaling
};

struct LLMInferenceCluster {
  static constexpr Kind kKind{"inference.llm.io", "v1alpha1", "LLMInferenceCluster",
                              "llminferenceclusters"};
  ObjectMeta metadata;
  LLMInferenceClusterSpec spec;
  LLMInferenceClusterStatus status;
};

// What is made for a cluster, and how each is called.
enum class ClusterChild : uint8_t { kRouter, kPrefill, kDecode, kShardMap, kSignals };
std::string child_name(std::string_view cluster, ClusterChild child);  // "<cluster>-shardmap"

const TypeInfo& type_of(const ClusterModel*);
const TypeInfo& type_of(const ClusterRole*);
const TypeInfo& type_of(const ClusterRuntime*);
const TypeInfo& type_of(const CacheStrategy*);
const TypeInfo& type_of(const EvictionPolicy*);
const TypeInfo& type_of(const WarmCache*);
const TypeInfo& type_of(const ClusterCache*);
const TypeInfo& type_of(const RoutingMode*);
const TypeInfo& type_of(const ClusterRouting*);
const TypeInfo& type_of(const SignalSource*);
const TypeInfo& type_of(const ClusterSignals*);
const TypeInfo& type_of(const ClusterTargets*);
const TypeInfo& type_of(const ClusterAutoscaling*);
const TypeInfo& type_of(const LLMInferenceClusterSpec*);
const TypeInfo& type_of(const ShardPhase*);
const TypeInfo& type_of(const ShardStatus*);
const TypeInfo& type_of(const ClusterEndpoints*);
const TypeInfo& type_of(const LLMInferenceClusterStatus*);
const TypeInfo& type_of(const LLMInferenceCluster*);

}  // namespace fairlead::api
