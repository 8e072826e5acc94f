#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/rule_texts.h"
#include "api/rules.h"
#include "base/check.h"
#include "codec/json.h"

namespace fairlead::api {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::chrono::nanoseconds kWindowMax = minutes(30);

// The order of the rest stays.
Json with_member(const Json& object, std::string_view name, Json value) {
  std::vector<Json::Member> members(object.members().begin(), object.members().end());
  const auto it = std::find_if(members.begin(), members.end(),
                               [&](const Json::Member& m) { return m.first == name; });
  if (it == members.end()) {
    members.emplace_back(name, std::move(value));
  } else {
    it->second = std::move(value);
  }
  return Json::object(std::move(members));
}

class PolicyRules {
 public:
  explicit PolicyRules(const AutoscalingPolicySpec& spec) : spec_(spec) {}

  std::vector<FieldError> run() {
    const int targets = int{spec_.homogeneousTarget.has_value()} +
                        int{spec_.heterogeneousTarget.has_value()} +
                        int{spec_.disaggregatedTarget.has_value()};
    if (targets != 1) fail("spec", rule_texts::kOneTarget);
    metrics(spec_.metrics, "spec.metrics");
    if (spec_.behavior) behavior(*spec_.behavior);
    if (spec_.homogeneousTarget) homogeneous(*spec_.homogeneousTarget);
    if (spec_.heterogeneousTarget) heterogeneous(*spec_.heterogeneousTarget);
    if (spec_.disaggregatedTarget) disaggregated(*spec_.disaggregatedTarget);
    return std::move(errors_);
  }

 private:
  void fail(std::string field, std::string_view message) {
    errors_.push_back({std::move(field), std::string(message)});
  }

  void metrics(const std::vector<MetricTarget>& list, const std::string& at) {
    std::set<std::string_view> names;
    for (size_t i = 0; i < list.size(); ++i) {
      if (!names.insert(list[i].name).second) {
        fail(fmt::format("{}[{}].name", at, i),
             fmt::format("{} '{}'", rule_texts::kMetricTwice, list[i].name));
      }
      if (list[i].targetValue <= Quantity()) {
        fail(fmt::format("{}[{}].targetValue", at, i), rule_texts::kMetricValue);
      }
    }
  }

  void window(const std::optional<Duration>& value, const std::string& at) {
    if (!value || (value->value >= seconds(0) && value->value <= kWindowMax)) return;
    fail(at, fmt::format("is {}: {}", value->text(), rule_texts::kWindow));
  }

  void stable(const std::optional<StablePolicy>& policy, const std::string& at) {
    if (!policy) return;
    window(policy->period, at + ".period");
    window(policy->stabilizationWindow, at + ".stabilizationWindow");
  }

  void behavior(const AutoscalingBehavior& behavior) {
    stable(behavior.scaleDown, "spec.behavior.scaleDown");
    if (!behavior.scaleUp) return;
    stable(behavior.scaleUp->stablePolicy, "spec.behavior.scaleUp.stablePolicy");
    if (const auto& panic = behavior.scaleUp->panicPolicy) {
      window(panic->period, "spec.behavior.scaleUp.panicPolicy.period");
      window(panic->panicModeHold, "spec.behavior.scaleUp.panicPolicy.panicModeHold");
    }
  }

  void reference(const ObjectReference& target, const std::string& at) {
    if (!target.kind.empty() && target.kind != ModelServing::kKind.kind) {
      fail(at + ".kind", fmt::format("is '{}': {}", target.kind, rule_texts::kServing));
    }
    if (target.name.empty()) fail(at + ".name", rule_texts::kGiven);
  }

  void limits(int32_t least, int32_t most, const std::string& at) {
    if (least > most) {
      fail(at + ".minReplicas",
           fmt::format("is {}: {}, {}", least, rule_texts::kReplicasInOrder, most));
    }
  }

  void need_metrics(const std::vector<MetricTarget>& list) {
    if (list.empty()) fail("spec.metrics", rule_texts::kMetric);
  }

  void homogeneous(const HomogeneousTarget& target) {
    const std::string at = "spec.homogeneousTarget";
    metrics(target.metrics, at + ".metrics");
    need_metrics(spec_.homogeneous_metrics());
    limits(target.minReplicas, target.maxReplicas, at);
    if (target.target) {
      reference(target.target->targetRef, at + ".target.targetRef");
      if (target.targetRef) fail(at + ".targetRef", rule_texts::kNotBesideTarget);
      if (!target.metricSources.empty()) {
        fail(at + ".metricSources", rule_texts::kNotBesideTarget);
      }
    } else if (target.targetRef) {
      reference(*target.targetRef, at + ".targetRef");
    } else {
      fail(at + ".target", rule_texts::kTargetOrRef);
    }
  }

  void heterogeneous(const HeterogeneousTarget& target) {
    need_metrics(spec_.metrics);
    std::set<std::pair<std::string, std::string>> targets;
    for (size_t i = 0; i < target.params.size(); ++i) {
      const HeterogeneousParam& param = target.params[i];
      const std::string at = fmt::format("spec.heterogeneousTarget.params[{}]", i);
      limits(param.minReplicas, param.maxReplicas, at);
      if (!param.target) {
        fail(at + ".target", rule_texts::kGiven);
        continue;
      }
      const ObjectReference& scaled = param.target->targetRef;
      reference(scaled, at + ".target.targetRef");
      if (!scaled.name.empty() && !targets.emplace(scaled.namespace_, scaled.name).second) {
        fail(at + ".target.targetRef.name",
             fmt::format("is '{}': {}", scaled.name, rule_texts::kTargetOnce));
      }
    }
  }

  void disaggregated(const DisaggregatedTarget& target) {
    const std::string at = "spec.disaggregatedTarget";
    reference(target.targetRef, at + ".targetRef");
    for (const auto& [name, role] : target.roles) {
      this->role(role, fmt::format("{}.roles.{}", at, name));
    }
    if (target.ratioConstraint) ratio(target, *target.ratioConstraint, at + ".ratioConstraint");
  }

  void role(const RoleTarget& role, const std::string& at) {
    metrics(role.metrics, at + ".metrics");
    limits(role.minReplicas, role.maxReplicas, at);
    if (role.minReplicas == role.maxReplicas) return;  // never scaled
    const auto& measured = role.metrics.empty() ? spec_.metrics : role.metrics;
    if (measured.empty()) fail(at + ".metrics", rule_texts::kRoleMetrics);
    if (role.metricSources.empty()) fail(at + ".metricSources", rule_texts::kRoleSources);
    for (const auto& [name, source] : role.metricSources) {
      const bool known =
          std::any_of(measured.begin(), measured.end(),
                      [&, &wanted = name](const auto& m) { return m.name == wanted; });
      if (!known) fail(fmt::format("{}.metricSources.{}", at, name), rule_texts::kSourceOfMetric);
    }
  }

  void ratio(const DisaggregatedTarget& target, const RatioConstraint& ratio,
             const std::string& at) {
    const auto upper = target.roles.find(ratio.numeratorRole);
    const auto lower = target.roles.find(ratio.denominatorRole);
    if (upper == target.roles.end()) fail(at + ".numeratorRole", rule_texts::kNamesRole);
    if (lower == target.roles.end()) fail(at + ".denominatorRole", rule_texts::kNamesRole);
    if (ratio.minRatio < Quantity()) fail(at + ".minRatio", rule_texts::kNotNegative);
    if (ratio.maxRatio <= Quantity()) fail(at + ".maxRatio", rule_texts::kPositive);
    if (ratio.minRatio > ratio.maxRatio) fail(at + ".minRatio", rule_texts::kRatioInOrder);
    if (upper == target.roles.end() || lower == target.roles.end()) return;
    const RoleTarget& over = upper->second;
    const RoleTarget& under = lower->second;
    if ((over.minReplicas == 0) != (under.minReplicas == 0)) {
      fail(at, rule_texts::kRatioOfZero);
    }
    if (over.minReplicas > ratio.maxRatio.as_double() * under.maxReplicas) {
      fail(at + ".maxRatio", rule_texts::kRatioCanBeKept);
    }
    if (under.minReplicas > 0 &&
        over.maxReplicas < ratio.minRatio.as_double() * under.minReplicas) {
      fail(at + ".minRatio", rule_texts::kRatioCanBeKept);
    }
  }

  const AutoscalingPolicySpec& spec_;
  std::vector<FieldError> errors_;
};

}  // namespace

std::vector<FieldError> check_rules(const AutoscalingPolicy& policy, Operation) {
  return PolicyRules(policy.spec).run();
}

void fill_in(AutoscalingBehavior& behavior) {
  if (!behavior.scaleDown) {
    behavior.scaleDown.emplace();
    behavior.scaleDown->instances = 0;
    behavior.scaleDown->period = {minutes(1)};
  }
  if (!behavior.scaleDown->stabilizationWindow) {
    behavior.scaleDown->stabilizationWindow = Duration{minutes(5)};
  }
  if (!behavior.scaleUp) behavior.scaleUp.emplace();
  auto& [stable, panic] = *behavior.scaleUp;
  if (!stable) {
    stable.emplace();
    stable->instances = 4;
    stable->period = {minutes(1)};
  }
  if (!stable->stabilizationWindow) stable->stabilizationWindow = Duration{};
  if (!panic) {
    panic.emplace();
    panic->percent = 0;
    panic->panicModeHold = {};  // a panic that lasts for no time is none
  }
}

Json fill_in_policy(const Json& stored) {
  auto policy = read<AutoscalingPolicy>(stored);
  const Json* spec = stored.find("spec");
  if (!policy || spec == nullptr) return stored;
  AutoscalingBehavior behavior = policy->spec.behavior.value_or(AutoscalingBehavior{});
  fill_in(behavior);
  const auto filled = codec::parse_json(write(behavior));
  CHECK(filled.ok(), "what is written is JSON");
  return with_member(stored, "spec", with_member(*spec, "behavior", *filled));
}

}  // namespace fairlead::api
