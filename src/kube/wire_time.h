// Times of the clock as Kubernetes writes them (api/time.h). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace fairlead::kube {

// "2026-11-30T01:02:03Z", with or without a fraction, with Z or an offset; finer than a microsecond
// is cut.
std::optional<base::WallTime> parse_time(std::string_view text);

std::string time_text(base::WallTime time);        // "2026-11-30T01:02:03Z"
std::string micro_time_text(base::WallTime time);  // "2026-11-30T01:02:03.000004Z"

}  // namespace fairlead::kube
