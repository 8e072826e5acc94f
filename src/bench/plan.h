// Plan: what a run is made of, once everything that may be missing is there: the configuration with
// its model, addresses, the trace. From it come the targets and the slices. One loop.
//
//   auto plan = co_await make_plan(network, config, seed, specs);
//   auto target = make_target(network, *plan, 0, plan->seed);
//   co_await run_slice(*target, slice_of(plan->config, 0, target->planned()));
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "bench/client_cpu.h"
#include "bench/config.h"
#include "bench/load.h"
#include "bench/slice.h"
#include "net/network.h"
#include "rt/task.h"
#include "workload/trace.h"

namespace fairlead::bench {

struct Plan {
  BenchConfig config;
  uint64_t seed = 0;
  bool own_caches = false;  // no two targets share an engine
  std::vector<Endpoint> endpoints;
  std::shared_ptr<const workload::Trace> trace;
  CpuClock cpu;
};

// Resolves the targets, asks the first for a model where none is given, reads the trace. `specs`
// have URLs, in the order of the targets.
rt::Task<base::Result<Plan>> make_plan(net::Network& network, BenchConfig config,
                                       std::vector<TargetSpec> specs);

// The target at `endpoint`, with the texts of `seed`.
std::unique_ptr<LoadTarget> make_target(net::Network& network, const Plan& plan, size_t endpoint,
                                        uint64_t seed);

// The part of the run in one of its rounds. `planned` is what the workload itself comes to.
SliceOptions slice_of(const BenchConfig& config, uint32_t round, uint64_t planned);

}  // namespace fairlead::bench
