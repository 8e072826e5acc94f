#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/pattern.h"
#include "api/rule_texts.h"
#include "api/rules.h"
#include "base/ascii.h"

namespace fairlead::api {
namespace {

// Of these the router writes its own.
constexpr std::array<std::string_view, 13> kReservedHeaders = {"authorization",
                                                               "proxy-authorization",
                                                               "cookie",
                                                               "x-api-key",
                                                               "host",
                                                               "content-length",
                                                               "connection",
                                                               "keep-alive",
                                                               "proxy-connection",
                                                               "transfer-encoding",
                                                               "upgrade",
                                                               "trailer",
                                                               "te"};
constexpr size_t kChildSuffixMax = std::string_view("-prefill").size();
constexpr size_t kServiceNameMax = 63;

void check_labels(const std::map<std::string, std::string>& labels, const std::string& at,
                  std::vector<FieldError>& errors) {
  if (labels.empty()) errors.push_back({at, std::string(rule_texts::kLabels)});
  for (const auto& [key, value] : labels) {
    if (valid_label_key(key) && valid_label_value(value)) continue;
    errors.push_back(
        {fmt::format("{}.{}", at, key), fmt::format("is '{}': {}", value, rule_texts::kLabel)});
  }
}

void check_pattern(const StringMatch& match, const std::string& at,
                   std::vector<FieldError>& errors) {
  if (!match.regex) return;
  if (const std::string why = pattern_error(*match.regex); !why.empty()) {
    errors.push_back({at + ".regex", fmt::format("{}: {}", rule_texts::kRegex, why)});
  }
}

void check_rule(const RouteRule& rule, const ModelRouteSpec& spec, const std::string& at,
                std::vector<FieldError>& errors) {
  if (rule.modelMatch) {
    for (const auto& [name, match] : rule.modelMatch->headers) {
      check_pattern(match, fmt::format("{}.modelMatch.headers.{}", at, name), errors);
    }
    if (rule.modelMatch->uri) check_pattern(*rule.modelMatch->uri, at + ".modelMatch.uri", errors);
  }
  int64_t weights = 0;
  for (size_t i = 0; i < rule.targetModels.size(); ++i) {
    const TargetModel& target = rule.targetModels[i];
    weights += target.weight;
    if (!target.externalModelProviderName.empty() && !spec.loraAdapters.empty()) {
      errors.push_back({fmt::format("{}.targetModels[{}].externalModelProviderName", at, i),
                        std::string(rule_texts::kNoAdapters)});
    }
  }
  if (weights <= 0) {
    errors.push_back({at + ".targetModels", std::string(rule_texts::kWeight)});
  }
}

// https, a host, and nothing but a path after it.
bool valid_base_url(std::string_view url) {
  return pattern_found(
      R"(^https://(\[[0-9a-fA-F:.%]+\]|[^\s/?#@:\[\]]+)(:[0-9]{1,5})?(/[^\s?#]*)?$)", url);
}

}  // namespace

std::vector<FieldError> check_rules(const ModelServer& server, Operation) {
  std::vector<FieldError> errors;
  const WorkloadSelector& selector = server.spec.workloadSelector;
  const std::string at = "spec.workloadSelector";
  check_labels(selector.matchLabels, at + ".matchLabels", errors);
  if (!selector.pdGroup) return errors;
  if (!valid_label_key(selector.pdGroup->groupKey)) {
    errors.push_back({at + ".pdGroup.groupKey", std::string(rule_texts::kLabelKey)});
  }
  check_labels(selector.pdGroup->prefillLabels, at + ".pdGroup.prefillLabels", errors);
  check_labels(selector.pdGroup->decodeLabels, at + ".pdGroup.decodeLabels", errors);
  return errors;
}

std::vector<FieldError> check_rules(const ModelRoute& route, Operation) {
  std::vector<FieldError> errors;
  for (size_t i = 0; i < route.spec.loraAdapters.size(); ++i) {
    if (!route.spec.loraAdapters[i].empty()) continue;
    errors.push_back(
        {fmt::format("spec.loraAdapters[{}]", i), std::string(rule_texts::kAdapterName)});
  }
  for (size_t i = 0; i < route.spec.rules.size(); ++i) {
    check_rule(route.spec.rules[i], route.spec, fmt::format("spec.rules[{}]", i), errors);
  }
  return errors;
}

std::vector<FieldError> check_rules(const ExternalModelProvider& provider, Operation) {
  std::vector<FieldError> errors;
  const ExternalModelProviderSpec& spec = provider.spec;
  if (!valid_base_url(spec.baseURL)) {
    errors.push_back({"spec.baseURL", std::string(rule_texts::kBaseUrl)});
  }
  if (spec.auth && spec.auth->secretRef.name.empty()) {
    errors.push_back({"spec.auth.secretRef.name", std::string(rule_texts::kGiven)});
  }
  if (spec.auth && spec.auth->secretRef.key.empty()) {
    errors.push_back({"spec.auth.secretRef.key", std::string(rule_texts::kGiven)});
  }
  for (const auto& [name, value] : spec.headers) {
    const std::string at = fmt::format("spec.headers.{}", name);
    if (!pattern_found("^[-!#$%&'*+.^_`|~0-9A-Za-z]+$", name)) {
      errors.push_back({at, std::string(rule_texts::kHeaderName)});
    } else if (std::find(kReservedHeaders.begin(), kReservedHeaders.end(), base::lowered(name)) !=
               kReservedHeaders.end()) {
      errors.push_back({at, std::string(rule_texts::kHeaderReserved)});
    }
    if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
      errors.push_back({at, std::string(rule_texts::kHeaderLine)});
    }
  }
  return errors;
}

std::vector<FieldError> check_rules(const LLMInferenceCluster& cluster, Operation) {
  const std::string& name = cluster.metadata.name;
  if (name.empty() || (name.size() + kChildSuffixMax <= kServiceNameMax && valid_dns_label(name))) {
    return {};
  }
  return {{"metadata.name", std::string(rule_texts::kServiceNames)}};
}

}  // namespace fairlead::api
