#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <tuple>

#include "base/hash.h"
#include "base/random.h"
#include "bench/fleet.h"
#include "bench/html.h"
#include "bench/load.h"
#include "bench/plan.h"
#include "bench/progress.h"
#include "bench/sweep.h"
#include "net/tcp.h"
#include "rt/signals.h"
#include "rt/task_group.h"

namespace fairlead::bench {
namespace {

// Overload: so many requests a client, of short answers, over one prefix.
constexpr uint64_t kOverloadRequestsEach = 4;

using Targets = std::vector<std::unique_ptr<LoadTarget>>;

// Every round each target gets its slice, and the order turns, so that none is always first.
rt::Task<void> take_turns(Targets& targets, const BenchConfig& config) {
  const rt::Scope& scope = co_await rt::current_scope();
  for (uint32_t round = 0; round < config.rounds; ++round) {
    for (size_t i = 0; i < targets.size() && !scope.cancelled(); ++i) {
      LoadTarget& target = *targets[(i + round) % targets.size()];
      co_await run_slice(target, slice_of(config, round, target.planned()));
    }
  }
}

rt::Task<void> take_turns_with_progress(Targets& targets, const BenchConfig& config) {
  std::vector<LoadTarget*> shown;
  for (const auto& target : targets) shown.push_back(target.get());
  rt::Scope& scope = co_await rt::current_scope();
  rt::TaskGroup progress(scope);
  progress.spawn(show_progress(shown));
  co_await take_turns(targets, config);
  progress.cancel(rt::CancelReason::kSibling);
  std::ignore = co_await progress.join();
}

std::vector<workload::Report> reports_of(const Targets& targets, const workload::Limits& limits) {
  std::vector<workload::Report> reports;
  for (const auto& target : targets) {
    reports.push_back(workload::make_report(target->endpoint().label, target->log(), limits));
  }
  return reports;
}

rt::Task<std::vector<workload::Report>> run_plan(net::Network& network, const Plan& plan) {
  Targets targets;
  for (size_t i = 0; i < plan.endpoints.size(); ++i) {
    targets.push_back(make_target(network, plan, i, plan.seed));
  }
  co_await take_turns_with_progress(targets, plan.config);
  co_return reports_of(targets, limits_of(plan.config));
}

// The report of a target is that of its best load.
rt::Task<void> sweep_all(net::Network& network, const Plan& plan, Results& results) {
  const rt::Scope& scope = co_await rt::current_scope();
  for (size_t i = 0; i < plan.endpoints.size() && !scope.cancelled(); ++i) {
    workload::Sweep sweep = co_await sweep_target(network, plan, i);
    if (const workload::Report* report = sweep.report()) results.reports.push_back(*report);
    results.sweeps.push_back(std::move(sweep));
  }
}

BenchConfig overload_config(BenchConfig config) {
  config.workload = WorkloadKind::kSharedPrefix;
  config.prefixes = 1;
  config.rate.reset();
  config.arrivals = workload::ArrivalKind::kPoisson;
  config.duration.reset();
  config.concurrency = std::max(1U, static_cast<uint32_t>(config.overload * config.max_num_seqs));
  config.requests = config.concurrency * kOverloadRequestsEach;
  config.rounds = 1;
  return config;
}

rt::Task<base::Result<Fleet>> start_fleet(net::Network& network, const BenchConfig& config,
                                          const std::vector<TargetSpec>& specs) {
  FleetOptions options{.policies = {},
                       .engines = config.engines,
                       .profile = config.profile,
                       .max_num_seqs = config.max_num_seqs};
  for (const auto& spec : specs) options.policies.push_back(spec.policy);
  co_return co_await Fleet::start(network, std::move(options));
}

// Cancels the run at the first SIGINT or SIGTERM.
rt::Task<void> watch_signals(rt::TaskGroup& run, bool& interrupted) {
  rt::Scope& scope = co_await rt::current_scope();
  rt::Signals signals(scope.loop(), {SIGINT, SIGTERM});
  if (co_await signals.next() == 0) co_return;
  interrupted = true;
  run.cancel(rt::CancelReason::kShutdown);
}

}  // namespace

rt::Task<base::Result<Results>> measure(net::Network& network, BenchConfig config, uint64_t seed,
                                        CpuClock cpu) {
  auto specs = targets_of(config);
  if (!specs) co_return specs.error();
  const bool own = starts_processes(*specs);
  std::optional<Fleet> fleet;
  if (own) {
    auto started = co_await start_fleet(network, config, *specs);
    if (!started) co_return started.error();
    fleet.emplace(std::move(*started));
    for (TargetSpec& spec : *specs) spec.url = fleet->url(spec.policy);
  }
  auto plan = co_await make_plan(network, config, *std::move(specs));
  if (!plan) co_return plan.error();
  plan->seed = seed;
  plan->own_caches = own;
  plan->cpu = std::move(cpu);
  Results results;
  results.seed = seed;
  if (config.sweep == SweepOver::kNone) {
    results.reports = co_await run_plan(network, *plan);
  } else {
    co_await sweep_all(network, *plan, results);
  }
  if (config.overload > 0) {
    Plan overload = *plan;
    overload.config = overload_config(plan->config);
    overload.seed = base::mix64(seed);
    results.overload = co_await run_plan(network, overload);
  }
  if (config.verdict) {
    results.checks = workload::affinity_checks(results.reports.front(), results.reports.back());
    if (!results.overload.empty()) {
      const auto more =
          workload::overload_checks(results.overload.front(), results.overload.back());
      results.checks.insert(results.checks.end(), more.begin(), more.end());
    }
  }
  co_return results;
}

namespace {

rt::Task<void> measure_into(net::Network& network, const BenchConfig& config, uint64_t seed,
                            std::optional<base::Result<Results>>& out) {
  out.emplace(co_await measure(network, config, seed, thread_cpu_times));
}

rt::Task<base::Result<Results>> measure_until_signal(net::Network& network,
                                                     const BenchConfig& config, uint64_t seed) {
  rt::TaskGroup run(network.loop());
  rt::TaskGroup watching(network.loop());
  std::optional<base::Result<Results>> results;
  bool interrupted = false;
  run.spawn(measure_into(network, config, seed, results));
  watching.spawn(watch_signals(run, interrupted));
  std::ignore = co_await run.join();
  watching.cancel(rt::CancelReason::kSibling);
  std::ignore = co_await watching.join();
  if (*results) (*results)->interrupted = interrupted;
  co_return std::move(*results);
}

base::Result<> write_file(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return base::invalid_argument(fmt::format("cannot write {}", path));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written) {
    return base::Error(base::ErrorCode::kUnavailable, fmt::format("{} is cut off", path));
  }
  return {};
}

base::Result<> write_files(const BenchConfig& config, const Results& results) {
  if (!config.json.empty() && config.json != "-") {
    if (auto written = write_file(config.json, render_json(config, results)); !written) {
      return written.error().wrap("--json");
    }
  }
  if (config.html.empty()) return {};
  auto written = write_file(config.html, render_html(config, results));
  return written ? written : written.error().wrap("--html");
}

int exit_status(const Results& results) {
  if (results.interrupted) return 130;
  const bool missed = std::any_of(results.checks.begin(), results.checks.end(),
                                  [](const auto& check) { return !check.passed; });
  const bool unanswered = std::any_of(results.reports.begin(), results.reports.end(),
                                      [](const auto& r) { return r.errors == r.requests; });
  const bool nothing_kept = std::any_of(results.sweeps.begin(), results.sweeps.end(),
                                        [](const auto& sweep) { return !sweep.best; });
  return missed || unanswered || nothing_kept ? 1 : 0;
}

}  // namespace

int run(const BenchConfig& config) {
  if (const auto valid = validate(config); !valid) {
    fmt::print(stderr, "fairlead bench: {}\n", valid.error().describe());
    return 2;
  }
  rt::block_signals({SIGINT, SIGTERM});
  rt::Loop loop;
  net::TcpNetwork network(loop);
  const uint64_t seed = config.seed.value_or(base::random_seed() % 1'000'000'000);
  const auto results = loop.block_on(measure_until_signal(network, config, seed));
  if (!results) {
    fmt::print(stderr, "fairlead bench: {}\n", results.error().describe());
    return results.error().code() == base::ErrorCode::kCancelled ? 130 : 1;
  }
  const bool json_out = config.json == "-";
  fmt::print(json_out ? stderr : stdout, "{}", render_text(config, *results));
  if (json_out) fmt::print("{}", render_json(config, *results));
  if (const auto written = write_files(config, *results); !written) {
    fmt::print(stderr, "fairlead bench: {}\n", written.error().describe());
    return 1;
  }
  return exit_status(*results);
}

}  // namespace fairlead::bench
