#include "engine/arg_values.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace fairlead::engine {

namespace {

base::Error not_in(std::string_view text, IntRange range) {
  if (range.max == INT64_MAX) {
    return base::invalid_argument(
        fmt::format("'{}' is not a whole number of at least {}", text, range.min));
  }
  return base::invalid_argument(
      fmt::format("'{}' is not a whole number from {} to {}", text, range.min, range.max));
}

}  // namespace

base::Result<int64_t> parse_int(std::string_view text, IntRange range) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < range.min || value > range.max) {
    return not_in(text, range);
  }
  return value;
}

base::Result<int64_t> parse_human_int(std::string_view text, IntRange range) {
  constexpr std::string_view kDecimal = "kmgt";
  constexpr std::string_view kBinary = "KMGT";
  if (text.empty()) return not_in(text, range);
  const size_t decimal = kDecimal.find(text.back());
  const size_t binary = kBinary.find(text.back());
  if (binary != std::string_view::npos) {
    auto value = parse_int(text.substr(0, text.size() - 1), {0, INT64_MAX >> 40});
    if (!value) return not_in(text, range);
    const int64_t scaled = *value << (10 * (binary + 1));
    return scaled < range.min || scaled > range.max ? base::Result<int64_t>(not_in(text, range))
                                                    : scaled;
  }
  if (decimal != std::string_view::npos) {
    auto value = parse_double(text.substr(0, text.size() - 1), {0, 9e6});
    if (!value) return not_in(text, range);
    const double scaled = *value * std::pow(1000.0, static_cast<double>(decimal + 1));
    const auto whole = static_cast<int64_t>(std::llround(std::min(scaled, 9e18)));
    return whole < range.min || whole > range.max ? base::Result<int64_t>(not_in(text, range))
                                                  : whole;
  }
  return parse_int(text, range);
}

base::Result<double> parse_double(std::string_view text, DoubleRange range) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !(value >= range.min && value <= range.max)) {
    return base::invalid_argument(
        fmt::format("'{}' is not a number from {} to {}", text, range.min, range.max));
  }
  return value;
}

}  // namespace fairlead::engine
