#include "base/duration.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace fairlead::base {
namespace {

struct DurationUnit {
  std::string_view name;
  double nanos;
};

// Longest names first where one is a prefix of another.
constexpr std::array<DurationUnit, 6> kDurationUnits = {
    {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}}};

}  // namespace

Result<Nanos> parse_duration(std::string_view text) {
  if (text == "0") return Nanos(0);
  constexpr double kMax = 9e18;
  double total = 0;
  std::string_view rest = text;
  bool valid = !rest.empty();
  while (valid && !rest.empty()) {
    double number = 0;
    const auto [end, ec] =
        std::from_chars(rest.data(), rest.data() + rest.size(), number, std::chars_format::fixed);
    valid = false;
    if (ec != std::errc() || number < 0 || !std::isfinite(number)) break;
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    for (const DurationUnit& unit : kDurationUnits) {
      const bool whole_name = rest.starts_with(unit.name) &&
                              (rest.size() == unit.name.size() ||
                               (rest[unit.name.size()] >= '0' && rest[unit.name.size()] <= '9'));
      if (!whole_name) continue;
      total += number * unit.nanos;
      rest.remove_prefix(unit.name.size());
      valid = total < kMax;
      break;
    }
  }
  if (!valid) {
    return invalid_argument(fmt::format(
        "'{}' is not a duration: numbers with ns, us, ms, s, m or h, such as 500ms or 1h30m",
        text));
  }
  return Nanos(std::llround(total));
}

std::string to_string(Nanos duration) {
  const auto nanos = static_cast<double>(duration.count());
  for (size_t i = kDurationUnits.size(); i-- > 0;) {
    const double value = nanos / kDurationUnits[i].nanos;
    const double thousandths = value * 1000;
    if (value >= 1 && std::abs(thousandths - std::round(thousandths)) < 1e-6) {
      return fmt::format("{:.{}g}{}", value, 15, kDurationUnits[i].name);
    }
  }
  return fmt::format("{}ns", duration.count());
}

}  // namespace fairlead::base
