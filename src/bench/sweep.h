// --sweep: one trial after another against one target, each a new LoadTarget with texts of its own,
// until the highest load that keeps the limits is found (workload/sweep.h says which loads).
//
//   const Sweep sweep = co_await sweep_target(network, plan, 0);
#pragma once

#include "bench/plan.h"
#include "net/network.h"
#include "rt/task.h"
#include "workload/sweep.h"

namespace fairlead::bench {

// What the loads of a sweep count: "requests/s" or "clients".
std::string_view sweep_unit(const BenchConfig& config);

// Ends early, with what it has, when its scope is cancelled.
rt::Task<workload::Sweep> sweep_target(net::Network& network, const Plan& plan, size_t endpoint);

}  // namespace fairlead::bench
