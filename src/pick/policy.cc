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
// among what is left.
constexpr std::array<std::string_view, 2> kFilters{"tried", "health"};
constexpr std::array<Preset, 4> kPresets{{
    {"prefix-cache", "prefix-affinity"},
    {"least-request", "least-load"},
    {"round-robin", "round-robin"},
    {"random", "random"},
}};
constexpr std::array<std::string_view, kPresets.size()> kNames{kPresets[0].name, kPresets[1].name,
                                                               kPresets[2].name, kPresets[3].name};

template <class Map>
auto* find(const Map& map, std::string_view name) {
  const auto it = map.find(name);
  CHECK(it != map.end(), "a preset names a plugin that is not registered");
  return it->second.get();
}

}  // namespace

std::span<const std::string_view> Policy::names() { return kNames; }

base::Result<std::unique_ptr<const Policy>> Policy::make(std::string_view name,
                                                         const PolicyOptions& options) {
  const auto preset = std::find_if(kPresets.begin(), kPresets.end(),
                                   [&](const Preset& p) { return p.name == name; });
  if (preset == kPresets.end()) {
    return base::invalid_argument(
        fmt::format("no policy is called \"{}\"; there are {}", name, fmt::join(kNames, ", ")));
  }
  if (auto valid = options.validate(); !valid) return valid.error();

  std::unique_ptr<Policy> policy(new Policy);
  policy->name_ = preset->name;
  register_filters(policy->plugins_);
  register_scorers(policy->plugins_);
  register_pickers(policy->plugins_, options);
  for (const std::string_view filter : kFilters) {
    policy->filters_.push_back(find(policy->plugins_.filters, filter));
  }
  policy->picker_ = find(policy->plugins_.pickers, preset->picker);
  for (const std::string_view scorer : policy->picker_->scorers()) {
    policy->scorers_.push_back(find(policy->plugins_.scorers, scorer));
    policy->reads_prefixes_ |= scorer == "prefix";
  }
  CHECK(policy->scorers_.size() <= kScorersMax, "a picker reads too many columns");
  return std::unique_ptr<const Policy>(std::move(policy));
}

}  // namespace fairlead::pick
