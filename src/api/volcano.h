// Volcano's gangs, queues and network topology: partial views that keep what they do not name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/label_selector.h"
#include "api/meta.h"
#include "api/quantity.h"
#include "api/time.h"

namespace fairlead::api {

struct PodGroupTopology {
  std::string mode;
  std::optional<int32_t> highestTierAllowed;
  std::string highestTierName;
  Unknown unknown;
};

struct SubGroupPolicy {
  std::string name;
  std::optional<LabelSelector> labelSelector;
  std::vector<std::string> matchLabelKeys;
  std::optional<int32_t> subGroupSize;
  std::optional<int32_t> minSubGroups;
  std::optional<PodGroupTopology> networkTopology;
  Unknown unknown;
};

struct PodGroupSpec {
  std::optional<int32_t> minMember;
  std::map<std::string, int32_t> minTaskMember;
  std::map<std::string, Quantity> minResources;
  std::string queue;
  std::string priorityClassName;
  std::optional<PodGroupTopology> networkTopology;
  std::vector<SubGroupPolicy> subGroupPolicy;
  Unknown unknown;
};

struct PodGroupCondition {
  std::string type;
  std::string status;
  std::string reason;
  std::string message;
  std::string transitionID;
  std::optional<Time> lastTransitionTime;
  Unknown unknown;
};

struct PodGroupStatus {
  std::string phase;
  std::optional<int32_t> running;
  std::optional<int32_t> succeeded;
  std::optional<int32_t> failed;
  std::vector<PodGroupCondition> conditions;
  Unknown unknown;
};

struct PodGroup {
  static constexpr Kind kKind{"scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups"};
  ObjectMeta metadata;
  PodGroupSpec spec;
  PodGroupStatus status;
  Unknown unknown;
};

struct QueueSpec {
  std::optional<int32_t> weight;
  std::map<std::string, Quantity> capability;
  std::optional<bool> reclaimable;
  std::string parent;
  Unknown unknown;
};

struct QueueStatus {
  std::string state;
  std::map<std::string, Quantity> allocated;
  Unknown unknown;
};

struct Queue {
  static constexpr Kind kKind{"scheduling.volcano.sh", "v1beta1", "Queue", "queues",
                              Scope::kCluster};
  ObjectMeta metadata;
  QueueSpec spec;
  QueueStatus status;
  Unknown unknown;
};

struct HyperNodeSelector {
  Json exactMatch;
  Json regexMatch;
  std::optional<LabelSelector> labelMatch;
  Unknown unknown;
};

struct HyperNodeMember {
  std::string type;
  HyperNodeSelector selector;
  Unknown unknown;
};

struct HyperNodeSpec {
  int32_t tier = 0;
  std::string tierName;
  std::vector<HyperNodeMember> members;
  Unknown unknown;
};

struct HyperNode {
  static constexpr Kind kKind{"topology.volcano.sh", "v1alpha1", "HyperNode", "hypernodes",
                              Scope::kCluster};
  ObjectMeta metadata;
  HyperNodeSpec spec;
  Json status;
  Unknown unknown;
};

const TypeInfo& type_of(const PodGroupTopology*);
const TypeInfo& type_of(const SubGroupPolicy*);
const TypeInfo& type_of(const PodGroupSpec*);
const TypeInfo& type_of(const PodGroupCondition*);
const TypeInfo& type_of(const PodGroupStatus*);
const TypeInfo& type_of(const PodGroup*);
const TypeInfo& type_of(const QueueSpec*);
const TypeInfo& type_of(const QueueStatus*);
const TypeInfo& type_of(const Queue*);
const TypeInfo& type_of(const HyperNodeSelector*);
const TypeInfo& type_of(const HyperNodeMember*);
const TypeInfo& type_of(const HyperNodeSpec*);
const TypeInfo& type_of(const HyperNode*);

}  // namespace fairlead::api
