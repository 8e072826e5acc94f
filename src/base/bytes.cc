#include "base/bytes.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>

namespace fairlead::base {
namespace {

struct Unit {
  std::string_view name;
  uint64_t factor;
};

constexpr std::array<Unit, 19> kUnits = {{
    {"", 1},
    {"B", 1},
    {"K", 1ULL << 10},
    {"Ki", 1ULL << 10},
    {"KiB", 1ULL << 10},
    {"kB", 1000ULL},
    {"KB", 1000ULL},
    {"M", 1ULL << 20},
    {"Mi", 1ULL << 20},
    {"MiB", 1ULL << 20},
    {"MB", 1000ULL * 1000},
    {"G", 1ULL << 30},
    {"Gi", 1ULL << 30},
    {"GiB", 1ULL << 30},
    {"GB", 1000ULL * 1000 * 1000},
    {"T", 1ULL << 40},
    {"Ti", 1ULL << 40},
    {"TiB", 1ULL << 40},
    {"TB", 1000ULL * 1000 * 1000 * 1000},
}};

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
  uint64_t number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (ec == std::errc()) {
    for (const Unit& u : kUnits) {
      if (u.name != unit) continue;
      if (number > std::numeric_limits<uint64_t>::max() / u.factor) break;
      return Bytes(number * u.factor);
    }
  }
  return invalid_argument(fmt::format(
      "'{}' is not a size: a whole number with B, KiB, MiB, GiB or TiB, such as 64MiB", text));
}

std::string to_string(Bytes bytes) {
  constexpr std::array<std::string_view, 5> kNames = {"B", "KiB", "MiB", "GiB", "TiB"};
  uint64_t n = bytes.count;
  size_t unit = 0;
  while (unit + 1 < kNames.size() && n != 0 && n % 1024 == 0) {
    n /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", n, kNames[unit]);
}

}  // namespace fairlead::base
