// The parts of what bench prints, for text and for pages.
#pragma once

#include <string>
#include <vector>

#include "bench/bench.h"
#include "bench/config.h"

namespace fairlead::bench {

// Workload, load, limits and seed, in a few lines that end with a newline.
std::string setting_text(const BenchConfig& config, const Results& results);
// What a reader of the numbers must know about the client that took them; empty if nothing.
std::string client_warnings(const std::vector<workload::Report>& reports);
// The trials of each sweep and what it found.
std::string sweeps_text(const BenchConfig& config, const std::vector<workload::Sweep>& sweeps);

}  // namespace fairlead::bench
