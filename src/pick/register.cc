// Every plugin, one line each.
#include "pick/filters/health.h"
#include "pick/filters/least_request.h"
#include "pick/filters/slow_start.h"
#include "pick/filters/tried.h"
#include "pick/pickers/expected_ttft.h"
#include "pick/pickers/least_load.h"
#include "pick/pickers/power_of_two.h"
#include "pick/pickers/prefix_affinity.h"
#include "pick/pickers/random.h"
#include "pick/pickers/round_robin.h"
#include "pick/pickers/session_affinity.h"
#include "pick/pickers/weighted.h"
#include "pick/policy.h"
#include "pick/scorers/expected_ttft.h"
#include "pick/scorers/gpu_usage.h"
#include "pick/scorers/least_latency.h"
#include "pick/scorers/least_request.h"
#include "pick/scorers/load.h"
#include "pick/scorers/prefix.h"
#include "pick/scorers/prefix_cache.h"
#include "pick/scorers/random.h"

namespace fairlead::pick {
namespace {

template <class P, class Map, class... Args>
void add(Map& map, Args&&... args) {
  auto plugin = std::make_unique<const P>(std::forward<Args>(args)...);
  const std::string_view name = plugin->name();
  CHECK(map.emplace(name, std::move(plugin)).second, "two plugins have one name");
}

}  // namespace

void register_filters(Plugins& plugins, const PolicyOptions& options) {
  add<TriedFilter>(plugins.filters);
  add<HealthFilter>(plugins.filters);
  add<SlowStartFilter>(plugins.filters);
  add<LeastRequestFilter>(plugins.filters, options.least_request);
}

void register_scorers(Plugins& plugins, const PolicyOptions& options) {
  add<LoadScorer>(plugins.scorers);
  add<PrefixScorer>(plugins.scorers);
  add<ExpectedTtftScorer>(plugins.scorers);
  add<LeastRequestScorer>(plugins.scorers);
  add<LeastLatencyScorer>(plugins.scorers, options.least_latency);
  add<GpuUsageScorer>(plugins.scorers);
  add<PrefixCacheScorer>(plugins.scorers, options.prefix_cache);
  add<RandomScorer>(plugins.scorers);
}

void register_pickers(Plugins& plugins, const PolicyOptions& options) {
  add<RoundRobinPicker>(plugins.pickers);
  add<RandomPicker>(plugins.pickers);
  add<LeastLoadPicker>(plugins.pickers);
  add<ExpectedTtftPicker>(plugins.pickers, options.expected_ttft);
  add<PrefixAffinityPicker>(plugins.pickers, options.prefix_affinity);
  add<PowerOfTwoPicker>(plugins.pickers);
  add<SessionAffinityPicker>(plugins.pickers);
  add<WeightedPicker>(plugins.pickers, options.weights);
}

}  // namespace fairlead::pick
