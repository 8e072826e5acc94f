// Pod: a partial view that keeps what it does not name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/meta.h"
#include "api/pod_spec.h"
#include "api/time.h"

namespace fairlead::api {

struct PodCondition {
  std::string type;
  std::string status;
  std::string reason;
  std::string message;
  std::optional<Time> lastTransitionTime;
  Unknown unknown;
};

struct ContainerStatus {
  std::string name;
  bool ready = false;
  std::optional<bool> started;
  int32_t restartCount = 0;
  std::string image;
  Json state;
  Json lastState;
  Unknown unknown;
};

struct PodStatus {
  std::string phase;
  std::string reason;
  std::string message;
  std::string podIP;
  std::string hostIP;
  std::optional<Time> startTime;
  std::vector<PodCondition> conditions;
  std::vector<ContainerStatus> initContainerStatuses;
  std::vector<ContainerStatus> containerStatuses;
  Unknown unknown;
};

struct Pod {
  static constexpr Kind kKind{"", "v1", "Pod", "pods"};
  ObjectMeta metadata;
  PodSpec spec;
  PodStatus status;
  Unknown unknown;
};

const TypeInfo& type_of(const PodCondition*);
const TypeInfo& type_of(const ContainerStatus*);
const TypeInfo& type_of(const PodStatus*);
const TypeInfo& type_of(const Pod*);

}  // namespace fairlead::api
