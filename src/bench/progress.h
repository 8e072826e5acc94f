// The live line of a run: one line on a terminal, rewritten five times a second; silent elsewhere.
//
//   round-robin 120 (4 under way)   prefix-cache 100   12 s
#pragma once

#include <span>
#include <string>

#include "base/clock.h"
#include "bench/load.h"
#include "rt/task.h"

namespace fairlead::bench {

// Without escapes or line end, at most `columns` long.
std::string progress_text(std::span<LoadTarget* const> targets, base::Nanos elapsed,
                          size_t columns);

// Shows progress on standard error until cancelled, then clears the line.
rt::Task<void> show_progress(std::span<LoadTarget* const> targets);

}  // namespace fairlead::bench
