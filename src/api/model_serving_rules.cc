// Two rules are milder than the other implementation's, which refuse what autoscalers write: a
// percentage may come to no replica at today's number (one may then be missing nonetheless), and
// after the creation a role may have fewer replicas than its gang asks for (all of them are then
// the gang).
#include <fmt/format.h>

#include <algorithm>

#include "api/pattern.h"
#include "api/rule_texts.h"
#include "api/rules.h"

namespace fairlead::api {
namespace {

constexpr size_t kDnsLabelMax = 63;
constexpr int64_t kWhole = 100;

class ServingRules {
 public:
  ServingRules(const ModelServing& serving, Operation operation)
      : serving_(serving), spec_(serving.spec), operation_(operation) {}

  std::vector<FieldError> run() {
    rollout();
    for (size_t i = 0; i < spec_.template_.roles.size(); ++i) {
      role(spec_.template_.roles[i], fmt::format("spec.template.roles[{}]", i));
    }
    gang();
    if (const auto& topology = spec_.template_.networkTopology) {
      tier(topology->groupPolicy, "spec.template.networkTopology.groupPolicy");
      tier(topology->rolePolicy, "spec.template.networkTopology.rolePolicy");
    }
    return std::move(errors_);
  }

 private:
  void fail(std::string field, std::string_view message) {
    errors_.push_back({std::move(field), std::string(message)});
  }

  bool by_roles() const {
    return spec_.rolloutStrategy && spec_.rolloutStrategy->type == RolloutType::RoleRollingUpdate;
  }

  void rollout() {
    if (by_roles() && spec_.recoveryPolicy == RecoveryPolicy::ServingGroupRecreate) {
      fail("spec.recoveryPolicy", rule_texts::kNoGroupRecreate);
    }
    if (!spec_.rolloutStrategy || !spec_.rolloutStrategy->rollingUpdateConfiguration) return;
    const std::string at = "spec.rolloutStrategy.rollingUpdateConfiguration";
    const RollingUpdateConfiguration& pace = *spec_.rolloutStrategy->rollingUpdateConfiguration;
    if (by_roles()) return fail(at, rule_texts::kNoGroupPace);
    if (amount(pace.maxUnavailable, at + ".maxUnavailable")) {
      not_zero(pace.maxUnavailable, at + ".maxUnavailable");
    }
    if (pace.partition) amount(*pace.partition, at + ".partition");
  }

  void role(const Role& role, const std::string& at) {
    if (!valid_dns_label(role.name)) {
      fail(at + ".name", fmt::format("is '{}': {}", role.name, rule_texts::kRoleName));
    } else if (const std::string name = longest_child_name(serving_, role);
               !serving_.metadata.name.empty() && !valid_dns_label(name)) {
      fail("metadata.name", fmt::format("gives '{}': {}", name, rule_texts::kPodNames));
    }
    images(role.entryTemplate.spec, at + ".entryTemplate.spec");
    if (role.workerTemplate) images(role.workerTemplate->spec, at + ".workerTemplate.spec");
    if (role.workerReplicas > 0 && !role.workerTemplate) {
      fail(at + ".workerTemplate", rule_texts::kWorkerTemplate);
    }
    const bool sound = amount(role.maxUnavailable, at + ".maxUnavailable");
    if (sound && by_roles()) not_zero(role.maxUnavailable, at + ".maxUnavailable");
    if (!role.partition) return;
    if (!by_roles()) return fail(at + ".partition", rule_texts::kRolePartition);
    amount(*role.partition, at + ".partition");
  }

  void images(const PodSpec& pod, const std::string& at) {
    containers(pod.containers(), at + ".containers");
    containers(pod.init_containers(), at + ".initContainers");
  }

  void containers(std::span<const Json> list, const std::string& at) {
    for (size_t i = 0; i < list.size(); ++i) {
      const Json* image = list[i].find("image");
      if (image == nullptr || !image->is_string() || image->as_string().empty()) continue;
      if (!pattern_found(R"(\s)", image->as_string())) continue;
      fail(fmt::format("{}[{}].image", at, i), rule_texts::kNoWhiteSpace);
    }
  }

  // A number that is not negative, or a percentage up to 100.
  bool amount(const IntOrString& value, const std::string& at) {
    const auto number = value.resolve(kWhole, Rounding::kDown);
    const bool share = std::holds_alternative<std::string>(value.value);
    if (number.ok() && *number >= 0 && (!share || *number <= kWhole)) return true;
    fail(at, fmt::format("is '{}': {}", value.text(), rule_texts::kAmount));
    return false;
  }

  void not_zero(const IntOrString& value, const std::string& at) {
    if (*value.resolve(kWhole, Rounding::kDown) == 0) {
      fail(at, rule_texts::kMoves);
    }
  }

  void gang() {
    if (!spec_.template_.gangPolicy) return;
    const auto& roles = spec_.template_.roles;
    for (const auto& [name, least] : spec_.template_.gangPolicy->minRoleReplicas) {
      const std::string at = fmt::format("spec.template.gangPolicy.minRoleReplicas.{}", name);
      const auto role =
          std::find_if(roles.begin(), roles.end(),
                       [&, &wanted = name](const Role& r) { return r.name == wanted; });
      if (role == roles.end()) {
        fail(at, rule_texts::kNamesRole);
      } else if (least < 0) {
        fail(at, fmt::format("is {}: {}", least, rule_texts::kNotNegative));
      } else if (operation_ == Operation::kCreate && least > role->replicas.value_or(1)) {
        fail(at, fmt::format("is {}: {}, {}", least, rule_texts::kGangSize,
                             role->replicas.value_or(1)));
      }
    }
  }

  void tier(const std::optional<TopologyPolicy>& policy, const std::string& at) {
    if (policy && policy->highestTierAllowed && !policy->highestTierName.empty()) {
      fail(at + ".highestTierName", rule_texts::kOneTier);
    }
  }

  const ModelServing& serving_;
  const ModelServingSpec& spec_;
  const Operation operation_;
  std::vector<FieldError> errors_;
};

}  // namespace

bool valid_dns_label(std::string_view name) {
  return name.size() <= kDnsLabelMax && pattern_found("^[a-z]([-a-z0-9]*[a-z0-9])?$", name);
}

std::string longest_child_name(const ModelServing& serving, const Role& role) {
  return fmt::format("{}-{}-{}-{}-{}", serving.metadata.name, serving.spec.replicas.value_or(1),
                     role.name, role.replicas.value_or(1), role.workerReplicas);
}

std::vector<FieldError> check_rules(const ModelServing& serving, Operation operation) {
  return ServingRules(serving, operation).run();
}

}  // namespace fairlead::api
