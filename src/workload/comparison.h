// Rendering of one or several reports side by side: a text table for people, JSON for programs.
// With more than one report each further column is followed by its ratio to the first.
//
//   print(render_table({round_robin, prefix_cache}));
//
// Check: a named claim about reports, with what was measured, for a verdict under the table. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "workload/report.h"

namespace fairlead::workload {

struct Check {
  std::string claim;     // "repeats that return to a warm replica"
  std::string measured;  // "97.5 %"
  std::string wanted;    // "at least 90 %"
  bool passed = false;
};

// Columns are aligned; every line ends with a newline. At least one report.
std::string render_table(std::span<const Report> reports);
std::string render_checks(std::span<const Check> checks);

// The seed-one experiment: `candidate` keeps repeats on warm replicas and answers them in at most
// half of `baseline`'s time, without piling the load on one of the replicas.
std::vector<Check> affinity_checks(const Report& baseline, const Report& candidate);
// One prefix far above a replica's capacity: `candidate` spreads it about as well as `baseline`.
std::vector<Check> overload_checks(const Report& baseline, const Report& candidate);

}  // namespace fairlead::workload
