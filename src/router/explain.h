// The value of x-fairlead-explain: which replica, why, what others scored and why some were left
// out. Pure.
#pragma once

#include <string>

#include "pick/chooser.h"
#include "router/backends.h"

namespace fairlead::router {

inline constexpr size_t kExplainBytesMax = 2048;

// One JSON object of at most kExplainBytesMax bytes: as many of those left out as fit, then of the
// others. Scores are by the scorers' names. `attempt` counts from 1.
std::string explain_json(const pick::Explanation& explanation, const pick::Reservation& pick,
                         const Snapshot& snapshot, uint32_t attempt);

}  // namespace fairlead::router
