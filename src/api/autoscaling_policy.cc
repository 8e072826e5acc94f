#include "api/autoscaling_policy.h"

#include "api/describe.h"
#include "api/rule_texts.h"

namespace fairlead::api {

BOOST_DESCRIBE_STRUCT(MetricTarget, (), (name, targetValue))
BOOST_DESCRIBE_STRUCT(PodMetricSource, (), (name, uri, port, labelSelector))
BOOST_DESCRIBE_STRUCT(PrometheusAuth, (), ())
BOOST_DESCRIBE_STRUCT(PrometheusMetricSource, (), (serverURL, query, auth))
BOOST_DESCRIBE_STRUCT(MetricSource, (), (pod, prometheus))
BOOST_DESCRIBE_ENUM(SelectPolicy, Or, And)
BOOST_DESCRIBE_STRUCT(StablePolicy, (),
                      (instances, percent, period, selectPolicy, stabilizationWindow))
BOOST_DESCRIBE_STRUCT(PanicPolicy, (), (percent, period, panicThresholdPercent, panicModeHold))
BOOST_DESCRIBE_STRUCT(ScaleUpPolicy, (), (stablePolicy, panicPolicy))
BOOST_DESCRIBE_STRUCT(AutoscalingBehavior, (), (scaleUp, scaleDown))
BOOST_DESCRIBE_STRUCT(AutoscalingTarget, (), (targetRef, metricSources))
BOOST_DESCRIBE_STRUCT(HomogeneousTarget, (),
                      (target, targetRef, metrics, metricSources, minReplicas, maxReplicas))
BOOST_DESCRIBE_STRUCT(HeterogeneousParam, (), (target, cost, minReplicas, maxReplicas))
BOOST_DESCRIBE_STRUCT(HeterogeneousTarget, (), (params, costExpansionRatePercent))
BOOST_DESCRIBE_STRUCT(RoleTarget, (), (minReplicas, maxReplicas, metrics, metricSources))
BOOST_DESCRIBE_STRUCT(RatioConstraint, (), (numeratorRole, denominatorRole, minRatio, maxRatio))
BOOST_DESCRIBE_STRUCT(DisaggregatedTarget, (), (targetRef, roles, ratioConstraint))
BOOST_DESCRIBE_STRUCT(AutoscalingPolicySpec, (),
                      (tolerancePercent, metrics, behavior, homogeneousTarget, heterogeneousTarget,
                       disaggregatedTarget))
BOOST_DESCRIBE_STRUCT(ScaledStatus, (),
                      (name, currentReplicas, desiredReplicas, mode, lastScaleTime))
BOOST_DESCRIBE_STRUCT(RatioStatus, (), (numeratorRole, denominatorRole, currentRatio))
BOOST_DESCRIBE_STRUCT(DisaggregatedStatus, (), (roles, ratioStatus, ratioAdjusted))
BOOST_DESCRIBE_STRUCT(AutoscalingPolicyStatus, (),
                      (observedGeneration, conditions, homogeneousStatus, heterogeneousStatus,
                       disaggregatedStatus))
BOOST_DESCRIBE_STRUCT(AutoscalingPolicy, (), (metadata, spec, status))

namespace {

constexpr double kReplicasMax = 1'000'000;
constexpr double kPercentMax = 1000;

// Of a reference to what is scaled.
std::vector<WebhookRule> of_target() {
  return {{".kind", rule_texts::kServing}, {".name", rule_texts::kGiven}};
}

}  // namespace

const ObjectReference* HomogeneousTarget::scaled_object() const {
  if (target) return &target->targetRef;
  return targetRef ? &*targetRef : nullptr;
}

const MetricSources& HomogeneousTarget::sources() const {
  return target ? target->metricSources : metricSources;
}

const std::vector<MetricTarget>& AutoscalingPolicySpec::homogeneous_metrics() const {
  return homogeneousTarget && !homogeneousTarget->metrics.empty() ? homogeneousTarget->metrics
                                                                  : metrics;
}

const TypeInfo& type_of(const MetricTarget*) {
  using T = MetricTarget;
  static const TypeInfo kType =
      describe<T>({.doc = "How much of a metric one replica should carry."},
                  {field<&T::name>({.doc = "The metric.",
                                    .required = true,
                                    .min_length = 1,
                                    .webhook = {{"", rule_texts::kMetricTwice}}}),
                   field<&T::targetValue>({.doc = "Its value for each replica.",
                                           .required = true,
                                           .webhook = {{"", rule_texts::kMetricValue}}})});
  return kType;
}

const TypeInfo& type_of(const PodMetricSource*) {
  using T = PodMetricSource;
  static const TypeInfo kType = describe<T>(
      {.doc = "A metric that the pods show."},
      {field<&T::name>({.doc = "Its name there; by default as in the policy."}),
       field<&T::uri>({.doc = "Where.", .default_json = R"("/metrics")", .pattern = "^/"}),
       field<&T::port>({.doc = "On which port.", .default_json = "8100", .min = 1, .max = 65535}),
       field<&T::labelSelector>({.doc = "Which of the target's pods; all by default."})});
  return kType;
}

const TypeInfo& type_of(const PrometheusAuth*) {
  static const TypeInfo kType = describe<PrometheusAuth>({.doc = "Reserved."}, {});
  return kType;
}

const TypeInfo& type_of(const PrometheusMetricSource*) {
  using T = PrometheusMetricSource;
  static const TypeInfo kType = describe<T>(
      {.doc = "A metric that Prometheus computes."},
      {field<&T::serverURL>(
           {.doc = "The server.", .required = true, .min_length = 1, .format = "uri"}),
       field<&T::query>({.doc = "A query whose answer is one number: the total over all replicas.",
                         .required = true,
                         .min_length = 1}),
       field<&T::auth>({.doc = "Reserved."})});
  return kType;
}

const TypeInfo& type_of(const MetricSource*) {
  using T = MetricSource;
  static const TypeInfo kType =
      describe<T>({.doc = "Where a metric comes from.",
                   .rules = {{.rule = "has(self.pod) || has(self.prometheus)",
                              .message = "one metric source backend config is required"},
                             {.rule = "!(has(self.pod) && has(self.prometheus))",
                              .message = "pod and prometheus configs are mutually exclusive"}}},
                  {field<&T::pod>({.doc = "The pods themselves."}),
                   field<&T::prometheus>({.doc = "Prometheus."})});
  return kType;
}

const TypeInfo& type_of(const SelectPolicy*) {
  static const TypeInfo kType = describe_enum<SelectPolicy>();
  return kType;
}

const TypeInfo& type_of(const StablePolicy*) {
  using T = StablePolicy;
  static const TypeInfo kType = describe<T>(
      {.doc = "How fast replicas may come or go."},
      {field<&T::instances>({.doc = "So many within a period.", .default_json = "1", .min = 0}),
       field<&T::percent>({.doc = "Such a share within a period.",
                           .default_json = "100",
                           .min = 0,
                           .max = kPercentMax}),
       field<&T::period>({.doc = "The period.",
                          .default_json = R"("15s")",
                          .webhook = {{"", rule_texts::kWindow}}}),
       field<&T::selectPolicy>({.doc = "Or: the larger change is allowed; And: the smaller.",
                                .default_json = R"("Or")"}),
       field<&T::stabilizationWindow>(
           {.doc = "How long a recommendation must last before it is followed.",
            .webhook = {{"", rule_texts::kWindow}}})});
  return kType;
}

const TypeInfo& type_of(const PanicPolicy*) {
  using T = PanicPolicy;
  static const TypeInfo kType = describe<T>(
      {.doc = "How a sudden load is met."},
      {field<&T::percent>({.doc = "Such a share may come within a period.",
                           .default_json = "1000",
                           .min = 0,
                           .max = kPercentMax}),
       field<&T::period>(
           {.doc = "The period.", .required = true, .webhook = {{"", rule_texts::kWindow}}}),
       field<&T::panicThresholdPercent>(
           {.doc = "A recommendation of this share of the replicas begins it.",
            .default_json = "200",
            .min = 110,
            .max = kPercentMax}),
       field<&T::panicModeHold>({.doc = "How long it lasts after its cause.",
                                 .default_json = R"("60s")",
                                 .webhook = {{"", rule_texts::kWindow}}})});
  return kType;
}

const TypeInfo& type_of(const ScaleUpPolicy*) {
  using T = ScaleUpPolicy;
  static const TypeInfo kType =
      describe<T>({.doc = "How fast replicas may come."},
                  {field<&T::stablePolicy>({.doc = "As a rule."}),
                   field<&T::panicPolicy>({.doc = "Under a sudden load."})});
  return kType;
}

const TypeInfo& type_of(const AutoscalingBehavior*) {
  using T = AutoscalingBehavior;
  static const TypeInfo kType =
      describe<T>({.doc = "How fast replicas may come and go."},
                  {field<&T::scaleUp>({.doc = "How fast they may come."}),
                   field<&T::scaleDown>({.doc = "How fast they may go."})});
  return kType;
}

const TypeInfo& type_of(const AutoscalingTarget*) {
  using T = AutoscalingTarget;
  static const TypeInfo kType = describe<T>(
      {.doc = "What is scaled, and by what."},
      {field<&T::targetRef>({.doc = "A ModelServing.", .required = true, .webhook = of_target()}),
       field<&T::metricSources>({.doc = "Where each metric comes from, by name."})});
  return kType;
}

const TypeInfo& type_of(const HomogeneousTarget*) {
  using T = HomogeneousTarget;
  static const TypeInfo kType = describe<T>(
      {.doc = "The groups of one ModelServing."},
      {field<&T::target>(
           {.doc = "What is scaled, and by what.", .webhook = {{"", rule_texts::kTargetOrRef}}}),
       field<&T::targetRef>({.doc = "What is scaled, where there is no target.",
                             .webhook = {{"", rule_texts::kNotBesideTarget},
                                         {".kind", rule_texts::kServing},
                                         {".name", rule_texts::kGiven}}}),
       field<&T::metrics>({.doc = "Metrics instead of the policy's."}),
       field<&T::metricSources>({.doc = "Where each metric comes from, where there is no target.",
                                 .webhook = {{"", rule_texts::kNotBesideTarget}}}),
       field<&T::minReplicas>({.doc = "Never fewer.",
                               .required = true,
                               .min = 0,
                               .max = kReplicasMax,
                               .webhook = {{"", rule_texts::kReplicasInOrder}}}),
       field<&T::maxReplicas>(
           {.doc = "Never more.", .required = true, .min = 1, .max = kReplicasMax})});
  return kType;
}

const TypeInfo& type_of(const HeterogeneousParam*) {
  using T = HeterogeneousParam;
  static const TypeInfo kType = describe<T>(
      {.doc = "One of several ModelServings."},
      {field<&T::target>(
           {.doc = "What is scaled, and by what.",
            .webhook = {{"", rule_texts::kGiven}, {".targetRef.name", rule_texts::kTargetOnce}}}),
       field<&T::cost>({.doc = "What one replica costs, relative to the others.", .min = 0}),
       field<&T::minReplicas>({.doc = "Never fewer.",
                               .required = true,
                               .min = 0,
                               .max = kReplicasMax,
                               .webhook = {{"", rule_texts::kReplicasInOrder}}}),
       field<&T::maxReplicas>(
           {.doc = "Never more.", .required = true, .min = 1, .max = kReplicasMax})});
  return kType;
}

const TypeInfo& type_of(const HeterogeneousTarget*) {
  using T = HeterogeneousTarget;
  static const TypeInfo kType =
      describe<T>({.doc = "Replicas shared out over several ModelServings, the cheap ones first."},
                  {field<&T::params>({.doc = "The ModelServings.", .min_items = 1}),
                   field<&T::costExpansionRatePercent>(
                       {.doc = "How fast the steps grow in which replicas are shared out.",
                        .default_json = "200",
                        .min = 0})});
  return kType;
}

const TypeInfo& type_of(const RoleTarget*) {
  using T = RoleTarget;
  static const TypeInfo kType = describe<T>(
      {.doc = "The replicas of one role."},
      {field<&T::minReplicas>({.doc = "Never fewer.",
                               .required = true,
                               .min = 0,
                               .max = kReplicasMax,
                               .webhook = {{"", rule_texts::kReplicasInOrder}}}),
       field<&T::maxReplicas>(
           {.doc = "Never more.", .required = true, .min = 1, .max = kReplicasMax}),
       field<&T::metrics>({.doc = "Metrics instead of the policy's.",
                           .min_items = 1,
                           .webhook = {{"", rule_texts::kRoleMetrics}}}),
       field<&T::metricSources>(
           {.doc = "Where each metric comes from, by name.",
            .webhook = {{"", rule_texts::kRoleSources}, {".*", rule_texts::kSourceOfMetric}}})});
  return kType;
}

const TypeInfo& type_of(const RatioConstraint*) {
  using T = RatioConstraint;
  static const TypeInfo kType = describe<T>(
      {.doc = "Keeps the replicas of two roles in proportion.",
       .rules = {{.rule = "self.numeratorRole != self.denominatorRole",
                  .message = "numeratorRole and denominatorRole must differ"}}},
      {field<&T::numeratorRole>({.doc = "Its replicas over those of",
                                 .required = true,
                                 .webhook = {{"", rule_texts::kNamesRole}}}),
       field<&T::denominatorRole>(
           {.doc = "this role.", .required = true, .webhook = {{"", rule_texts::kNamesRole}}}),
       field<&T::minRatio>({.doc = "Never less.",
                            .required = true,
                            .webhook = {{"", rule_texts::kNotNegative},
                                        {"", rule_texts::kRatioInOrder},
                                        {"", rule_texts::kRatioCanBeKept}}}),
       field<&T::maxRatio>(
           {.doc = "Never more.",
            .required = true,
            .webhook = {{"", rule_texts::kPositive}, {"", rule_texts::kRatioCanBeKept}}})});
  return kType;
}

const TypeInfo& type_of(const DisaggregatedTarget*) {
  using T = DisaggregatedTarget;
  static const TypeInfo kType = describe<T>(
      {.doc = "The roles of one ModelServing, each by metrics of its own.",
       .rules = {{.rule = "!has(self.ratioConstraint) || size(self.roles) >= 2",
                  .message = "roles must contain at least two entries when ratioConstraint is "
                             "configured"}}},
      {field<&T::targetRef>({.doc = "A ModelServing.", .required = true, .webhook = of_target()}),
       field<&T::roles>({.doc = "The roles, by name.",
                         .required = true,
                         .min_properties = 1,
                         .max_properties = 2}),
       field<&T::ratioConstraint>({.doc = "Keeps the roles in proportion.",
                                   .webhook = {{"", rule_texts::kRatioOfZero}}})});
  return kType;
}

const TypeInfo& type_of(const AutoscalingPolicySpec*) {
  using T = AutoscalingPolicySpec;
  static const TypeInfo kType = describe<T>(
      {.doc = "What is scaled, by what, and how fast. One of the three targets is needed.",
       .webhook = {{"", rule_texts::kOneTarget}}},
      {field<&T::tolerancePercent>({.doc = "A deviation of so much changes nothing.",
                                    .default_json = "10",
                                    .min = 0,
                                    .max = 100}),
       field<&T::metrics>({.doc = "How much of which metric one replica should carry.",
                           .webhook = {{"", rule_texts::kMetric}}}),
       field<&T::behavior>({.doc = "How fast replicas may come and go."}),
       field<&T::homogeneousTarget>({.doc = "The groups of one ModelServing."}),
       field<&T::heterogeneousTarget>({.doc = "Several ModelServings together."}),
       field<&T::disaggregatedTarget>({.doc = "The roles of one ModelServing."})});
  return kType;
}

const TypeInfo& type_of(const ScaledStatus*) {
  using T = ScaledStatus;
  static const TypeInfo kType =
      describe<T>({.doc = "The replicas of one target."},
                  {field<&T::name>({.doc = "The target."}),
                   field<&T::currentReplicas>({.doc = "What it has.", .required = true}),
                   field<&T::desiredReplicas>({.doc = "What it should have.", .required = true}),
                   field<&T::mode>({.doc = "Stable or Panic."}),
                   field<&T::lastScaleTime>({.doc = "When that last changed."})});
  return kType;
}

const TypeInfo& type_of(const RatioStatus*) {
  using T = RatioStatus;
  static const TypeInfo kType = describe<T>(
      {.doc = "The proportion of two roles."},
      {field<&T::numeratorRole>({.doc = "Replicas of this role over", .required = true}),
       field<&T::denominatorRole>({.doc = "those of this one.", .required = true}),
       field<&T::currentRatio>({.doc = "The proportion."})});
  return kType;
}

const TypeInfo& type_of(const DisaggregatedStatus*) {
  using T = DisaggregatedStatus;
  static const TypeInfo kType = describe<T>(
      {.doc = "The replicas of the roles."},
      {field<&T::roles>({.doc = "Each role.", .required = true}),
       field<&T::ratioStatus>({.doc = "Their proportion."}),
       field<&T::ratioAdjusted>({.doc = "Whether the proportion changed a recommendation."})});
  return kType;
}

const TypeInfo& type_of(const AutoscalingPolicyStatus*) {
  using T = AutoscalingPolicyStatus;
  static const TypeInfo kType = describe<T>(
      {.doc = "What was decided last."},
      {field<&T::observedGeneration>({.doc = "The metadata.generation this is about."}),
       field<&T::conditions>(
           {.doc = "Ready and TargetFound.", .list_type = "map", .list_map_key = "type"}),
       field<&T::homogeneousStatus>({.doc = "The homogeneous target."}),
       field<&T::heterogeneousStatus>({.doc = "Each of the heterogeneous targets."}),
       field<&T::disaggregatedStatus>({.doc = "The roles of the disaggregated target."})});
  return kType;
}

const TypeInfo& type_of(const AutoscalingPolicy*) {
  using T = AutoscalingPolicy;
  static const TypeInfo kType =
      describe_kind<T>({.doc = "Scales ModelServings or their roles by metrics."},
                       {field<&T::metadata>({}), field<&T::spec>({}), field<&T::status>({})});
  return kType;
}

}  // namespace fairlead::api
