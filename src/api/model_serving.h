// ModelServing: groups of pods in roles, placed and replaced together.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/int_or_string.h"
#include "api/meta.h"
#include "api/pod_spec.h"

namespace fairlead::api {

enum class PluginType : uint8_t { BuiltIn };
enum class PluginTarget : uint8_t { All, Entry, Worker };

struct PluginScope {
  std::vector<std::string> roles;  // empty: all
  std::optional<PluginTarget> target;
};

struct PluginSpec {
  std::string name;
  PluginType type = PluginType::BuiltIn;
  Json config;
  std::optional<PluginScope> scope;
};

enum class RolloutType : uint8_t { ServingGroupRollingUpdate, RoleRollingUpdate };

struct RollingUpdateConfiguration {
  IntOrString maxUnavailable{1};
  std::optional<IntOrString> partition;
};

struct RolloutStrategy {
  RolloutType type = RolloutType::ServingGroupRollingUpdate;
  std::optional<RollingUpdateConfiguration> rollingUpdateConfiguration;
};

enum class RecoveryPolicy : uint8_t { ServingGroupRecreate, RoleRecreate, None };

struct GangPolicy {
  std::map<std::string, int32_t> minRoleReplicas;
};

enum class TopologyMode : uint8_t { hard, soft };

struct TopologyPolicy {
  TopologyMode mode = TopologyMode::hard;
  std::optional<int32_t> highestTierAllowed;
  std::string highestTierName;
};

struct NetworkTopology {
  std::optional<TopologyPolicy> groupPolicy;
  std::optional<TopologyPolicy> rolePolicy;
};

struct Role {
  std::string name;
  std::optional<int32_t> replicas;  // 1
  PodTemplateSpec entryTemplate;
  int32_t workerReplicas = 0;
  std::optional<PodTemplateSpec> workerTemplate;
  IntOrString maxUnavailable{1};
  std::optional<IntOrString> partition;
};

struct ServingGroup {
  int64_t restartGracePeriodSeconds = 0;
  std::optional<GangPolicy> gangPolicy;
  std::optional<NetworkTopology> networkTopology;
  std::vector<Role> roles;
};

struct ModelServingSpec {
  std::optional<int32_t> replicas;  // 1
  std::string schedulerName = "volcano";
  std::vector<PluginSpec> plugins;
  ServingGroup template_;
  std::optional<RolloutStrategy> rolloutStrategy;
  RecoveryPolicy recoveryPolicy = RecoveryPolicy::RoleRecreate;
};

struct ModelServingStatus {
  std::optional<int64_t> observedGeneration;
  std::optional<int32_t> replicas;
  std::optional<int32_t> currentReplicas;
  std::optional<int32_t> updatedReplicas;
  std::optional<int32_t> availableReplicas;
  std::string currentRevision;
  std::string updateRevision;
  std::string labelSelector;
  std::vector<Condition> conditions;
};

struct ModelServing {
  static constexpr Kind kKind{"workload.serving.volcano.sh", "v1alpha1", "ModelServing",
                              "modelservings"};
  ObjectMeta metadata;
  ModelServingSpec spec;
  ModelServingStatus status;
};

const TypeInfo& type_of(const PluginType*);
const TypeInfo& type_of(const PluginTarget*);
const TypeInfo& type_of(const PluginScope*);
const TypeInfo& type_of(const PluginSpec*);
const TypeInfo& type_of(const RolloutType*);
const TypeInfo& type_of(const RollingUpdateConfiguration*);
const TypeInfo& type_of(const RolloutStrategy*);
const TypeInfo& type_of(const RecoveryPolicy*);
const TypeInfo& type_of(const GangPolicy*);
const TypeInfo& type_of(const TopologyMode*);
const TypeInfo& type_of(const TopologyPolicy*);
const TypeInfo& type_of(const NetworkTopology*);
const TypeInfo& type_of(const Role*);
const TypeInfo& type_of(const ServingGroup*);
const TypeInfo& type_of(const ModelServingSpec*);
const TypeInfo& type_of(const ModelServingStatus*);
const TypeInfo& type_of(const ModelServing*);

}  // namespace fairlead::api
