// --html: a run as one page that a colleague can open: what was run, the plots, the numbers. The
// page needs nothing else, neither files nor a network; it follows the reader's dark or light.
//
//   write_file(path, render_html(config, results));
#pragma once

#include <string>

#include "bench/bench.h"
#include "bench/config.h"

namespace fairlead::bench {

std::string render_html(const BenchConfig& config, const Results& results);

}  // namespace fairlead::bench
