// Values of flags as vLLM reads them.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace fairlead::engine {

// A whole number from `min` to `max`.
struct IntRange {
  int64_t min = 0;
  int64_t max = INT64_MAX;
};
base::Result<int64_t> parse_int(std::string_view text, IntRange range);

// "4096", "32k" (thousands), "32K" (1024), "1.5k", and so on with m, M, g, G, t, T.
base::Result<int64_t> parse_human_int(std::string_view text, IntRange range);

struct DoubleRange {
  double min = 0;
  double max = 0;
};
base::Result<double> parse_double(std::string_view text, DoubleRange range);

}  // namespace fairlead::engine
