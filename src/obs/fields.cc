#include "obs/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <type_traits>

#include "base/append.h"
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

void append_key(std::string& out, std::string_view key, LineFormat format) {
  if (format == LineFormat::kJson) {
    out.push_back(',');
    codec::append_json_string(out, key);
    out.push_back(':');
  } else {
    out.append(" ").append(key).push_back('=');
  }
}

void append_field(std::string& out, const Field& field, LineFormat format) {
  const bool json = format == LineFormat::kJson;
  append_key(out, field.key, format);
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
        } else if constexpr (std::is_same_v<T, uint64_t>) {
          base::append_decimal(out, value);
        } else {
          fmt::format_to(std::back_inserter(out), "{}", value);
        }
      },
      field.value);
}

void append_time(std::string& out, base::WallTime time) {
  using namespace std::chrono;
  // Lines come in order, so the text of the second before serves most of them.
  thread_local sys_seconds cached_second{seconds(-1)};
  thread_local std::string cached_text;
  const auto second = floor<seconds>(time);
  if (second != cached_second) {
    const auto day = floor<days>(second);
    const year_month_day date(day);
    const hh_mm_ss<seconds> clock(second - day);
    cached_text.clear();
    fmt::format_to(std::back_inserter(cached_text), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.",
                   static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                   static_cast<unsigned>(date.day()), clock.hours().count(),
                   clock.minutes().count(), clock.seconds().count());
    cached_second = second;
  }
  out += cached_text;
  base::append_thousandths(out, static_cast<uint64_t>(floor<milliseconds>(time - second).count()));
  out.push_back('Z');
}

}  // namespace fairlead::obs
