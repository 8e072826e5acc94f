// Deployments, scales, revisions and leases: partial views that keep what they do not name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/label_selector.h"
#include "api/meta.h"
#include "api/pod_spec.h"
#include "api/time.h"

namespace fairlead::api {

struct PodTemplate {
  ObjectMeta metadata;
  PodSpec spec;
  Unknown unknown;
};

struct DeploymentSpec {
  std::optional<int32_t> replicas;
  LabelSelector selector;
  PodTemplate template_;
  Json strategy;
  Unknown unknown;
};

struct DeploymentStatus {
  std::optional<int64_t> observedGeneration;
  std::optional<int32_t> replicas;
  std::optional<int32_t> updatedReplicas;
  std::optional<int32_t> readyReplicas;
  std::optional<int32_t> availableReplicas;
  Unknown unknown;
};

struct Deployment {
  static constexpr Kind kKind{"apps", "v1", "Deployment", "deployments"};
  ObjectMeta metadata;
  DeploymentSpec spec;
  DeploymentStatus status;
  Unknown unknown;
};

struct ScaleSpec {
  int32_t replicas = 0;
  Unknown unknown;
};

struct ScaleStatus {
  int32_t replicas = 0;
  std::string selector;  // of the pods, as text
  Unknown unknown;
};

// What the subresource `scale` of another kind shows and takes: there is no resource of this kind.
struct Scale {
  static constexpr Kind kKind{"autoscaling", "v1", "Scale", "scales"};
  ObjectMeta metadata;
  ScaleSpec spec;
  ScaleStatus status;
  Unknown unknown;
};

struct ControllerRevision {
  static constexpr Kind kKind{"apps", "v1", "ControllerRevision", "controllerrevisions"};
  ObjectMeta metadata;
  Json data;
  int64_t revision = 0;
  Unknown unknown;
};

struct LeaseSpec {
  std::string holderIdentity;
  std::optional<int32_t> leaseDurationSeconds;
  std::optional<MicroTime> acquireTime;
  std::optional<MicroTime> renewTime;
  std::optional<int32_t> leaseTransitions;
  Unknown unknown;
};

struct Lease {
  static constexpr Kind kKind{"coordination.k8s.io", "v1", "Lease", "leases"};
  ObjectMeta metadata;
  LeaseSpec spec;
  Unknown unknown;
};

const TypeInfo& type_of(const PodTemplate*);
const TypeInfo& type_of(const DeploymentSpec*);
const TypeInfo& type_of(const DeploymentStatus*);
const TypeInfo& type_of(const Deployment*);
const TypeInfo& type_of(const ScaleSpec*);
const TypeInfo& type_of(const ScaleStatus*);
const TypeInfo& type_of(const Scale*);
const TypeInfo& type_of(const ControllerRevision*);
const TypeInfo& type_of(const LeaseSpec*);
const TypeInfo& type_of(const Lease*);

}  // namespace fairlead::api
