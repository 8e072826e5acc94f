#include "pick/policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace fairlead::pick {
namespace {

struct Preset {
  std::string_view name;
  std::string_view picker;
};

// All policies filter alike: what was tried goes first, so that the panic rule of `health` decides
// among what is left, and `slow-start` leaves its rest to replicas that are ready.
constexpr std::array<std::string_view, 3> kFilters{"tried", "health", "slow-start"};
constexpr std::array kPresets{
    Preset{"expected-ttft", "expected-ttft"},
    Preset{"prefix-cache", "prefix-affinity"},
    Preset{"least-request", "least-load"},
    Preset{"power-of-two", "power-of-two"},
    Preset{"session-affinity", "session-affinity"},
    Preset{"round-robin", "round-robin"},
    Preset{"random", "random"},
};
constexpr auto kNames = [] {
  std::array<std::string_view, kPresets.size()> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kPresets[i].name;
  return names;
}();

template <class Map>
base::Result<typename Map::mapped_type::pointer> find(const Map& map, std::string_view kind,
                                                      std::string_view name) {
  const auto it = map.find(name);
  if (it != map.end()) return it->second.get();
  return base::invalid_argument(fmt::format("no {} is called \"{}\"", kind, name));
}

}  // namespace

base::Result<> PolicyOptions::validate() const {
  if (auto valid = prefix_affinity.validate(); !valid) return valid;
  if (auto valid = expected_ttft.validate(); !valid) return valid;
  if (auto valid = least_latency.validate(); !valid) return valid;
  if (auto valid = hashing.validate(); !valid) return valid;
  if (weights.size() >= kScorersMax) {
    return base::invalid_argument(fmt::format("at most {} scorers add up", kScorersMax - 1));
  }
  for (const WeightedScore& score : weights) {
    if (score.weight >= 0 && score.weight <= WeightedScore::kWeightMax) continue;
    return base::invalid_argument(fmt::format("weight of {} is {}, allowed are 0 to {}",
                                              score.scorer, score.weight,
                                              WeightedScore::kWeightMax));
  }
  return {};
}

std::span<const std::string_view> Policy::names() { return kNames; }

base::Result<std::unique_ptr<const Policy>> Policy::make(std::string_view name,
                                                         const PolicyOptions& options) {
  const auto preset = std::find_if(kPresets.begin(), kPresets.end(),
                                   [&](const Preset& p) { return p.name == name; });
  if (preset == kPresets.end()) {
    return base::invalid_argument(
        fmt::format("no policy is called \"{}\"; there are {}", name, fmt::join(kNames, ", ")));
  }
  return assemble(preset->name, {}, preset->picker, options);
}

base::Result<std::unique_ptr<const Policy>> Policy::make_weighted(
    std::span<const std::string> filters, const PolicyOptions& options) {
  return assemble("weighted", filters, "weighted", options);
}

base::Result<std::unique_ptr<const Policy>> Policy::assemble(std::string_view name,
                                                             std::span<const std::string> filters,
                                                             std::string_view picker,
                                                             const PolicyOptions& options) {
  if (auto valid = options.validate(); !valid) return valid.error();
  std::unique_ptr<Policy> policy(new Policy);
  policy->name_ = name;
  policy->hashing_ = options.hashing;
  register_filters(policy->plugins_, options);
  register_scorers(policy->plugins_, options);
  register_pickers(policy->plugins_, options);
  std::vector<std::string_view> all(kFilters.begin(), kFilters.end());
  all.insert(all.end(), filters.begin(), filters.end());
  for (const std::string_view filter : all) {
    const auto found = find(policy->plugins_.filters, "filter", filter);
    if (!found) return found.error();
    policy->filters_.push_back(*found);
  }
  const auto chosen = find(policy->plugins_.pickers, "picker", picker);
  if (!chosen) return chosen.error();
  policy->picker_ = *chosen;
  for (const std::string_view scorer : policy->picker_->scorers()) {
    const auto found = find(policy->plugins_.scorers, "scorer", scorer);
    if (!found) return found.error();
    policy->scorers_.push_back(*found);
    policy->reads_prefixes_ |= scorer == "prefix" || scorer == "prefix-cache";
    policy->predicts_ |= scorer == "expected-ttft";
  }
  CHECK(policy->scorers_.size() <= kScorersMax, "a picker reads too many columns");
  return std::unique_ptr<const Policy>(std::move(policy));
}

}  // namespace fairlead::pick
