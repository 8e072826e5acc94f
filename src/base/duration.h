// Durations in configuration and messages: "250us", "1.5s", "2m", "1h30m".
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace fairlead::base {

// One or more numbers with a unit (ns, us, ms, s, m, h); "0" needs none. Not negative.
Result<Nanos> parse_duration(std::string_view text);
// The largest unit that needs at most three decimals: "1.5s", "250us".
std::string to_string(Nanos duration);

}  // namespace fairlead::base
