#include "obs/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <type_traits>

#include "codec/json.h"

namespace fairlead::obs {
namespace {

// Nothing that a terminal, a shell or a line reader would take for something else.
bool reads_as_a_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c <= '~' && c != '"' && c != '\\' && c != '=';
  });
}

}  // namespace

void append_field(std::string& out, const Field& field, LineFormat format) {
  const bool json = format == LineFormat::kJson;
  if (json) {
    out.push_back(',');
    codec::append_json_string(out, field.key);
    out.push_back(':');
  } else {
    out.append(" ").append(field.key).push_back('=');
  }
  std::visit(
      [&](auto value) {
        using T = decltype(value);
        if constexpr (std::is_same_v<T, std::string_view>) {
          if (json || !reads_as_a_word(value)) {
            codec::append_json_string(out, value);
          } else {
            out.append(value);
          }
        } else if constexpr (std::is_same_v<T, double>) {
          if (json && !std::isfinite(value)) {
            out.append("null");
          } else {
            fmt::format_to(std::back_inserter(out), "{}", value);
          }
        } else {
          fmt::format_to(std::back_inserter(out), "{}", value);
        }
      },
      field.value);
}

void append_time(std::string& out, base::WallTime time) {
  using namespace std::chrono;
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss<milliseconds> clock(floor<milliseconds>(time - day));
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
                 static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                 static_cast<unsigned>(date.day()), clock.hours().count(), clock.minutes().count(),
                 clock.seconds().count(), clock.subseconds().count());
}

}  // namespace fairlead::obs
