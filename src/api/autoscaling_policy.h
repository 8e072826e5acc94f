// AutoscalingPolicy: how many replicas a ModelServing or its roles have, by metrics.
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

struct MetricTarget {
  std::string name;
  Quantity targetValue;
};

struct PodMetricSource {
  std::string name;
  std::string uri = "/metrics";
  int32_t port = 8100;
  std::optional<LabelSelector> labelSelector;
};

struct PrometheusAuth {};

struct PrometheusMetricSource {
  std::string serverURL;
  std::string query;
  std::optional<PrometheusAuth> auth;
};

struct MetricSource {
  std::optional<PodMetricSource> pod;
  std::optional<PrometheusMetricSource> prometheus;
};

using MetricSources = std::map<std::string, MetricSource>;

enum class SelectPolicy : uint8_t { Or, And };

struct StablePolicy {
  int32_t instances = 1;
  int32_t percent = 100;
  Duration period{std::chrono::seconds(15)};
  SelectPolicy selectPolicy = SelectPolicy::Or;
  std::optional<Duration> stabilizationWindow;
};

struct PanicPolicy {
  int32_t percent = 1000;
  Duration period;
  int32_t panicThresholdPercent = 200;
  Duration panicModeHold{std::chrono::seconds(60)};
};

struct ScaleUpPolicy {
  std::optional<StablePolicy> stablePolicy;
  std::optional<PanicPolicy> panicPolicy;
};

struct AutoscalingBehavior {
  std::optional<ScaleUpPolicy> scaleUp;
  std::optional<StablePolicy> scaleDown;
};

struct AutoscalingTarget {
  ObjectReference targetRef;
  MetricSources metricSources;
};

// The target is given either as `target`, or by the fields beside it, as in the second seed.
struct HomogeneousTarget {
  std::optional<AutoscalingTarget> target;
  std::optional<ObjectReference> targetRef;
  std::vector<MetricTarget> metrics;  // instead of the policy's
  MetricSources metricSources;
  int32_t minReplicas = 0;
  int32_t maxReplicas = 1;

  // What is scaled, in whichever form it was given.
  const ObjectReference* scaled_object() const;
  const MetricSources& sources() const;
};

struct HeterogeneousParam {
  std::optional<AutoscalingTarget> target;
  std::optional<int32_t> cost;  // 0
  int32_t minReplicas = 0;
  int32_t maxReplicas = 1;
};

struct HeterogeneousTarget {
  std::vector<HeterogeneousParam> params;
  int32_t costExpansionRatePercent = 200;
};

struct RoleTarget {
  int32_t minReplicas = 0;
  int32_t maxReplicas = 1;
  std::vector<MetricTarget> metrics;
  MetricSources metricSources;
};

struct RatioConstraint {
  std::string numeratorRole;
  std::string denominatorRole;
  Quantity minRatio;
  Quantity maxRatio;
};

struct DisaggregatedTarget {
  ObjectReference targetRef;
  std::map<std::string, RoleTarget> roles;
  std::optional<RatioConstraint> ratioConstraint;
};

struct AutoscalingPolicySpec {
  int32_t tolerancePercent = 10;
  std::vector<MetricTarget> metrics;
  std::optional<AutoscalingBehavior> behavior;
  std::optional<HomogeneousTarget> homogeneousTarget;
  std::optional<HeterogeneousTarget> heterogeneousTarget;
  std::optional<DisaggregatedTarget> disaggregatedTarget;

  // What a replica of the homogeneous target is measured by: its own list, else the policy's.
  const std::vector<MetricTarget>& homogeneous_metrics() const;
};

struct ScaledStatus {
  std::string name;
  int32_t currentReplicas = 0;
  int32_t desiredReplicas = 0;
  std::string mode;  // Stable, Panic
  std::optional<Time> lastScaleTime;
};

struct RatioStatus {
  std::string numeratorRole;
  std::string denominatorRole;
  std::string currentRatio;
};

struct DisaggregatedStatus {
  std::vector<ScaledStatus> roles;
  std::optional<RatioStatus> ratioStatus;
  std::optional<bool> ratioAdjusted;
};

struct AutoscalingPolicyStatus {
  std::optional<int64_t> observedGeneration;
  std::vector<Condition> conditions;
  std::optional<ScaledStatus> homogeneousStatus;
  std::vector<ScaledStatus> heterogeneousStatus;
  std::optional<DisaggregatedStatus> disaggregatedStatus;
};

struct AutoscalingPolicy {
  static constexpr Kind kKind{"workload.serving.volcano.sh", "v1alpha1", "AutoscalingPolicy",
                              "autoscalingpolicies"};
  ObjectMeta metadata;
  AutoscalingPolicySpec spec;
  AutoscalingPolicyStatus status;
};

const TypeInfo& type_of(const MetricTarget*);
const TypeInfo& type_of(const PodMetricSource*);
const TypeInfo& type_of(const PrometheusAuth*);
const TypeInfo& type_of(const PrometheusMetricSource*);
const TypeInfo& type_of(const MetricSource*);
const TypeInfo& type_of(const SelectPolicy*);
const TypeInfo& type_of(const StablePolicy*);
const TypeInfo& type_of(const PanicPolicy*);
const TypeInfo& type_of(const ScaleUpPolicy*);
const TypeInfo& type_of(const AutoscalingBehavior*);
const TypeInfo& type_of(const AutoscalingTarget*);
const TypeInfo& type_of(const HomogeneousTarget*);
const TypeInfo& type_of(const HeterogeneousParam*);
const TypeInfo& type_of(const HeterogeneousTarget*);
const TypeInfo& type_of(const RoleTarget*);
const TypeInfo& type_of(const RatioConstraint*);
const TypeInfo& type_of(const DisaggregatedTarget*);
const TypeInfo& type_of(const AutoscalingPolicySpec*);
const TypeInfo& type_of(const ScaledStatus*);
const TypeInfo& type_of(const RatioStatus*);
const TypeInfo& type_of(const DisaggregatedStatus*);
const TypeInfo& type_of(const AutoscalingPolicyStatus*);
const TypeInfo& type_of(const AutoscalingPolicy*);

}  // namespace fairlead::api
