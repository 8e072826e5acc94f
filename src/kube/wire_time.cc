#include "kube/wire_time.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>

namespace fairlead::kube {
namespace {

using std::chrono::floor;

// Exactly `digits` digits, taken off the front; -1 otherwise.
int take_number(std::string_view& text, size_t digits) {
  if (text.size() < digits) return -1;
  int value = 0;
  for (size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// ".5", ".000004": at most nine digits count.
std::optional<base::Nanos> take_fraction(std::string_view& text) {
  if (!take(text, '.')) return base::Nanos(0);
  int64_t nanos = 0;
  size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    if (digits < 9) nanos = nanos * 10 + (text[digits] - '0');
  }
  if (digits == 0) return std::nullopt;
  for (size_t i = digits; i < 9; ++i) nanos *= 10;
  text.remove_prefix(digits);
  return base::Nanos(nanos);
}

std::optional<std::chrono::minutes> take_offset(std::string_view& text) {
  if (take(text, 'Z') || take(text, 'z')) return std::chrono::minutes(0);
  if (text.empty() || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const int sign = text[0] == '-' ? -1 : 1;
  text.remove_prefix(1);
  const int hours = take_number(text, 2);
  const bool colon = take(text, ':');
  const int minutes = take_number(text, 2);
  if (!colon || hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  return std::chrono::minutes(sign * (hours * 60 + minutes));
}

}  // namespace

std::optional<base::WallTime> parse_time(std::string_view text) {
  const int year = take_number(text, 4);
  if (year < 0 || !take(text, '-')) return std::nullopt;
  const int month = take_number(text, 2);
  if (month < 0 || !take(text, '-')) return std::nullopt;
  const int day = take_number(text, 2);
  if (day < 0 || (!take(text, 'T') && !take(text, 't'))) return std::nullopt;
  const int hour = take_number(text, 2);
  if (hour < 0 || hour > 23 || !take(text, ':')) return std::nullopt;
  const int minute = take_number(text, 2);
  if (minute < 0 || minute > 59 || !take(text, ':')) return std::nullopt;
  const int second = take_number(text, 2);
  if (second < 0 || second > 60) return std::nullopt;
  const std::optional<base::Nanos> fraction = take_fraction(text);
  if (!fraction) return std::nullopt;
  const std::optional<std::chrono::minutes> offset = take_offset(text);
  if (!offset || !text.empty()) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  // Nanoseconds in 64 bits reach from 1678 to 2262.
  if (!date.ok() || year < 1700 || year > 2200) return std::nullopt;
  return base::WallTime(std::chrono::sys_days(date)) + std::chrono::hours(hour) +
         std::chrono::minutes(minute) + std::chrono::seconds(second) + *fraction - *offset;
}

std::string time_text(base::WallTime time) {
  const std::chrono::sys_days day = floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(floor<std::chrono::seconds>(time - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::string micro_time_text(base::WallTime time) {
  std::string text = time_text(time);
  const auto whole = floor<std::chrono::seconds>(time);
  const auto micros = floor<std::chrono::microseconds>(time - whole);
  text.pop_back();
  return fmt::format("{}.{:06}Z", text, micros.count());
}

}  // namespace fairlead::kube
