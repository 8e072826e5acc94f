#include "bench/sweep.h"

#include <fmt/format.h>

#include <tuple>

#include "base/hash.h"
#include "bench/progress.h"
#include "rt/task_group.h"

namespace fairlead::bench {
namespace {

workload::SweepOptions search_of(const BenchConfig& config) {
  return {.min = config.sweep_min,
          .max = config.sweep_max,
          .scale = config.sweep == SweepOver::kConcurrency ? workload::SweepScale::kWhole
                                                           : workload::SweepScale::kReal};
}

BenchConfig trial_config(BenchConfig config, double load) {
  if (config.sweep == SweepOver::kRate) {
    config.rate = load;
  } else {
    config.concurrency = static_cast<uint32_t>(load);
  }
  if (!config.requests && !config.duration) config.duration = kSweepTrialDefault;
  config.rounds = 1;
  return config;
}

rt::Task<workload::Report> run_trial(net::Network& network, const Plan& plan, size_t endpoint,
                                     uint64_t seed) {
  const auto target = make_target(network, plan, endpoint, seed);
  LoadTarget* const shown[] = {target.get()};
  rt::Scope& scope = co_await rt::current_scope();
  rt::TaskGroup progress(scope);
  progress.spawn(show_progress(shown));
  co_await run_slice(*target, slice_of(plan.config, 0, target->planned()));
  progress.cancel(rt::CancelReason::kSibling);
  std::ignore = co_await progress.join();
  co_return workload::make_report(target->endpoint().label, target->log(), limits_of(plan.config));
}

}  // namespace

std::string_view sweep_unit(const BenchConfig& config) {
  return config.sweep == SweepOver::kRate ? "requests/s" : "clients";
}

rt::Task<workload::Sweep> sweep_target(net::Network& network, const Plan& plan, size_t endpoint) {
  const rt::Scope& scope = co_await rt::current_scope();
  workload::Sweep sweep{
      .label = plan.endpoints[endpoint].label, .trials = {}, .best = std::nullopt};
  workload::SweepSearch search(search_of(plan.config));
  while (const auto load = search.next()) {
    Plan trial = plan;
    trial.config = trial_config(plan.config, *load);
    // The same load has the same texts on every target; no two trials of a target share any.
    const uint64_t seed = base::mix64(plan.seed + sweep.trials.size());
    workload::Report report = co_await run_trial(network, trial, endpoint, seed);
    if (scope.cancelled()) break;
    const bool kept = report.goodput && report.goodput->share >= plan.config.keep;
    sweep.trials.push_back({.load = *load, .kept = kept, .report = std::move(report)});
    kept ? search.kept() : search.missed();
    sweep.best = search.best();
  }
  co_return sweep;
}

}  // namespace fairlead::bench
