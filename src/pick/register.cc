// Every plugin, one line each.
#include "pick/filters/health.h"
#include "pick/filters/tried.h"
#include "pick/pickers/least_load.h"
#include "pick/pickers/prefix_affinity.h"
#include "pick/pickers/random.h"
#include "pick/pickers/round_robin.h"
#include "pick/policy.h"
#include "pick/scorers/load.h"
#include "pick/scorers/prefix.h"

namespace fairlead::pick {
namespace {

template <class P, class Map, class... Args>
void add(Map& map, Args&&... args) {
  auto plugin = std::make_unique<const P>(std::forward<Args>(args)...);
  const std::string_view name = plugin->name();
  CHECK(map.emplace(name, std::move(plugin)).second, "two plugins have one name");
}

}  // namespace

void register_filters(Plugins& plugins) {
  add<TriedFilter>(plugins.filters);
  add<HealthFilter>(plugins.filters);
}

void register_scorers(Plugins& plugins) {
  add<LoadScorer>(plugins.scorers);
  add<PrefixScorer>(plugins.scorers);
}

void register_pickers(Plugins& plugins, const PolicyOptions& options) {
  add<RoundRobinPicker>(plugins.pickers);
  add<RandomPicker>(plugins.pickers);
  add<LeastLoadPicker>(plugins.pickers);
  add<PrefixAffinityPicker>(plugins.pickers, options.prefix_affinity);
}

}  // namespace fairlead::pick
