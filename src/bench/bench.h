// `fairlead bench`: the run as a whole. Resolves targets (or starts them), sends the load in turns,
// prints the table.
//
//   const int status = bench::run(config);   // on a loop of its own
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bench/client_cpu.h"
#include "bench/config.h"
#include "net/network.h"
#include "rt/task.h"
#include "workload/comparison.h"
#include "workload/report.h"
#include "workload/sweep.h"

namespace fairlead::bench {

struct Results {
  uint64_t seed = 0;
  std::vector<workload::Report> reports;   // in the order of the targets
  std::vector<workload::Sweep> sweeps;     // of --sweep, in the order of the targets
  std::vector<workload::Report> overload;  // of --overload
  std::vector<workload::Check> checks;     // of --verdict
  bool interrupted = false;
};

// All of a run but its output. An error is what kept it from measuring anything; failed requests
// are part of the results. `cpu` is the clock by which this client is watched, if at all.
rt::Task<base::Result<Results>> measure(net::Network& network, BenchConfig config, uint64_t seed,
                                        CpuClock cpu = nullptr);

// What was run, the tables and the verdict.
std::string render_text(const BenchConfig& config, const Results& results);
std::string render_json(const BenchConfig& config, const Results& results);

// 0; 1 when the verdict missed, no request was answered or no load of a sweep kept the limits; 2
// for a wrong configuration; 130 when interrupted. Errors go to standard error.
int run(const BenchConfig& config);

}  // namespace fairlead::bench
