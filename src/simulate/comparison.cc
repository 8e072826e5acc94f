#include "simulate/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fairlead::simulate {
namespace {

base::Nanos quantile(std::vector<base::Nanos>& sorted, double share) {
  if (sorted.empty()) return base::Nanos(0);
  const auto rank =
      static_cast<size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)));
  return sorted[rank];
}

bool of_use(const workload::Sample& sample, const Workload& workload) {
  if (sample.first_token > workload.ttft_limit) return false;
  if (sample.output_tokens < 2) return true;
  return (sample.whole - sample.first_token) / (sample.output_tokens - 1) <= workload.gap_limit;
}

std::unique_ptr<const pick::Policy> policy_named(std::string_view name) {
  auto policy = pick::Policy::make(name, {});
  CHECK(policy.ok(), "the policy exists");
  return std::move(*policy);
}

// Requests a second between the fifth and the last fifth of the ends.
double throughput(const workload::RunLog& log) {
  std::vector<base::Nanos> ends;
  for (const workload::Sample& s : log.samples) ends.push_back(s.started + s.whole);
  std::sort(ends.begin(), ends.end());
  const size_t from = ends.size() / 5;
  const size_t to = ends.size() * 4 / 5;
  CHECK(to > from && ends[to] > ends[from], "there are enough requests to measure a rate");
  return static_cast<double>(to - from) / base::to_seconds(ends[to] - ends[from]);
}

double capacity(Traffic traffic, const Workload& workload, const FleetOptions& fleet) {
  press(traffic);
  FleetOptions pressed = fleet;
  pressed.in_flight_max = workload.pressed_in_flight;
  double most = 0;
  for (const std::string_view name : {"prefix-cache", "least-request"}) {
    most = std::max(most, throughput(run(traffic, *policy_named(name), pressed)));
  }
  return most;
}

}  // namespace

Measured measure(const workload::RunLog& log, const Traffic& traffic, const Workload& workload) {
  base::Nanos last{0};
  for (const PlannedRequest& request : traffic) {
    if (request.follows == kFollowsNone) last = std::max(last, request.at);
  }
  const base::Nanos warm = base::from_seconds(workload.warm_share * base::to_seconds(last));
  std::vector<base::Nanos> ttft;
  uint64_t good = 0;
  uint64_t prompt = 0;
  uint64_t cached = 0;
  for (const workload::Sample& s : log.samples) {
    if (s.started < warm || s.started > last) continue;
    ttft.push_back(s.first_token);
    prompt += s.prompt_tokens;
    cached += s.cached_tokens.value_or(0);
    good += of_use(s, workload) ? 1 : 0;
  }
  if (ttft.empty()) return {};
  std::sort(ttft.begin(), ttft.end());
  return {.cached_ratio = static_cast<double>(cached) / static_cast<double>(prompt),
          .ttft_p50_ms = base::to_ms(quantile(ttft, 0.5)),
          .ttft_p99_ms = base::to_ms(quantile(ttft, 0.99)),
          .goodput = static_cast<double>(good) / base::to_seconds(last - warm)};
}

Measured mean(std::span<const Measured> seeds) {
  Measured sum;
  const auto share = 1 / static_cast<double>(seeds.size());
  for (const Measured& m : seeds) {
    sum.cached_ratio += m.cached_ratio * share;
    sum.ttft_p50_ms += m.ttft_p50_ms * share;
    sum.ttft_p99_ms += m.ttft_p99_ms * share;
    sum.goodput += m.goodput * share;
  }
  return sum;
}

Traffic paced(const Workload& workload, uint64_t seed, const ComparisonOptions& options) {
  FleetOptions fleet = options.fleet;
  fleet.seed = seed;
  Traffic traffic = workload.make(seed);
  set_rate(traffic, options.load * capacity(traffic, workload, fleet));
  return traffic;
}

WorkloadTable compare(const Workload& workload, std::span<const std::string_view> policies,
                      const ComparisonOptions& options) {
  WorkloadTable table{.workload = workload.name};
  for (const std::string_view name : policies) table.rows.push_back({.policy = std::string(name)});
  for (uint64_t seed = options.first_seed; seed < options.first_seed + options.seeds; ++seed) {
    FleetOptions fleet = options.fleet;
    fleet.seed = seed;
    const Traffic traffic = paced(workload, seed, options);
    table.rate += rate(traffic) / options.seeds;
    for (PolicyRow& row : table.rows) {
      row.seeds.push_back(
          measure(run(traffic, *policy_named(row.policy), fleet), traffic, workload));
    }
  }
  return table;
}

Standing standing(const WorkloadTable& table, std::string_view policy) {
  const auto own = std::find_if(table.rows.begin(), table.rows.end(),
                                [&](const PolicyRow& row) { return row.policy == policy; });
  CHECK(own != table.rows.end(), "the policy is in the table");
  double goodput = 0;
  double p99 = std::numeric_limits<double>::infinity();
  for (const PolicyRow& row : table.rows) {
    if (row.policy == policy) continue;
    goodput = std::max(goodput, mean(row.seeds).goodput);
    p99 = std::min(p99, mean(row.seeds).ttft_p99_ms);
  }
  const Measured ours = mean(own->seeds);
  Standing out{.goodput = ours.goodput / goodput, .ttft_p99 = p99 / ours.ttft_p99_ms};
  for (size_t seed = 0; seed < own->seeds.size(); ++seed) {
    const bool won = std::all_of(table.rows.begin(), table.rows.end(), [&](const PolicyRow& row) {
      return row.policy == policy || own->seeds[seed].ttft_p99_ms < row.seeds[seed].ttft_p99_ms;
    });
    out.seeds_won += won ? 1 : 0;
  }
  return out;
}

std::string render(const WorkloadTable& table) {
  std::string text = fmt::format(
      "### {}, {:.1f} requests/s\n\n| policy | cached tokens | TTFT p50, ms | TTFT p99, ms | "
      "goodput, /s |\n|---|---:|---:|---:|---:|\n",
      table.workload, table.rate);
  for (const PolicyRow& row : table.rows) {
    const Measured m = mean(row.seeds);
    fmt::format_to(std::back_inserter(text), "| {} | {:.3f} | {:.1f} | {:.1f} | {:.2f} |\n",
                   row.policy, m.cached_ratio, m.ttft_p50_ms, m.ttft_p99_ms, m.goodput);
  }
  return text;
}

}  // namespace fairlead::simulate
