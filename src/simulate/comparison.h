// Comparison: policies side by side on the same traffic, over several seeds, as a table.
//
// Each workload runs at a share of the fleet's capacity for it, which is measured first: the most
// that is served a second, by prefix-cache or by least-request, when everything is there at once.
// A run is measured from when caches are warm to the last of its first turns.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulate/fleet.h"

namespace fairlead::simulate {

struct Workload {
  std::string name;
  std::function<Traffic(uint64_t seed)> make;
  // What an answer of use keeps: its first token within the one, its later tokens on average within
  // the other.
  base::Nanos ttft_limit = std::chrono::milliseconds(500);
  base::Nanos gap_limit = std::chrono::milliseconds(50);
  uint32_t pressed_in_flight = 1024;  // while capacity is measured
  double warm_share = 0.2;            // of a run's first turns, before it is measured
};

struct Measured {
  double cached_ratio = 0;
  double ttft_p50_ms = 0;
  double ttft_p99_ms = 0;
  double goodput = 0;  // answers of use a second
};
Measured measure(const workload::RunLog& log, const Traffic& traffic, const Workload& workload);
// Of the seeds.
Measured mean(std::span<const Measured> seeds);

struct PolicyRow {
  std::string policy;
  std::vector<Measured> seeds;
};
struct WorkloadTable {
  std::string workload;
  double rate = 0;  // requests a second, the mean of the seeds
  std::vector<PolicyRow> rows;
};

struct ComparisonOptions {
  uint64_t first_seed = 1;
  uint32_t seeds = 10;
  double load = 0.7;  // of capacity
  FleetOptions fleet;
};

// The requests of a seed, at options.load of the fleet's capacity for them.
Traffic paced(const Workload& workload, uint64_t seed, const ComparisonOptions& options);
// `policies` are names.
WorkloadTable compare(const Workload& workload, std::span<const std::string_view> policies,
                      const ComparisonOptions& options);

// How a policy does against the best of the others; above 1 is better.
struct Standing {
  double goodput = 0;
  double ttft_p99 = 0;
  // In how many seeds its p99 is strictly the best.
  uint32_t seeds_won = 0;
};
Standing standing(const WorkloadTable& table, std::string_view policy);

// Markdown.
std::string render(const WorkloadTable& table);

}  // namespace fairlead::simulate
