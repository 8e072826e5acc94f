#include "api/time.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "api/describe.h"
#include "base/ascii.h"

namespace fairlead::api {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::year_month_day;

// A cursor over fixed-width fields.
class Scan {
 public:
  explicit Scan(std::string_view rest) : rest_(rest) {}

  bool digits(size_t count, int& out) {
    if (rest_.size() < count ||
        !std::all_of(rest_.begin(), rest_.begin() + count, base::is_digit)) {
      return false;
    }
    out = 0;
    for (size_t i = 0; i < count; ++i) out = out * 10 + (rest_[i] - '0');
    rest_.remove_prefix(count);
    return true;
  }
  bool one_of(std::string_view wanted, char& out) {
    if (rest_.empty() || wanted.find(rest_.front()) == std::string_view::npos) return false;
    out = rest_.front();
    rest_.remove_prefix(1);
    return true;
  }
  bool literal(char wanted) {
    char found = 0;
    return one_of(std::string_view(&wanted, 1), found);
  }
  bool done() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }
  void drop(size_t count) { rest_.remove_prefix(count); }

 private:
  std::string_view rest_;
};

bool scan_fraction(Scan& scan, microseconds& out) {
  if (!scan.literal('.')) return true;
  int64_t value = 0;
  size_t count = 0;
  while (!scan.done() && base::is_digit(scan.rest().front())) {
    if (count < 6) value = value * 10 + (scan.rest().front() - '0');
    ++count;
    scan.drop(1);
  }
  for (size_t i = count; i < 6; ++i) value *= 10;
  out = microseconds(value);
  return count > 0;
}

bool scan_offset(Scan& scan, minutes& out) {
  char sign = 0;
  if (scan.one_of("Zz", sign)) return scan.done();
  int hour = 0;
  int minute = 0;
  if (!scan.one_of("+-", sign) || !scan.digits(2, hour) || !scan.literal(':') ||
      !scan.digits(2, minute) || !scan.done() || hour > 23 || minute > 59) {
    return false;
  }
  out = minutes((sign == '-' ? -1 : 1) * (hour * 60 + minute));
  return true;
}

std::string to_text(const Time& time, bool micros) {
  const auto since = time.since_epoch;
  const auto day = floor<days>(since);
  const year_month_day date{sys_days(day)};
  const microseconds rest = since - day;
  const auto second = floor<seconds>(rest);
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  second.count() / 3600, second.count() / 60 % 60, second.count() % 60);
  if (micros) text += fmt::format(".{:06}", (rest - second).count());
  return text + 'Z';
}

struct Unit {
  std::string_view name;
  int64_t nanos;
};
// Longer names before those they begin with.
constexpr Unit kUnits[] = {
    {"ns", 1},         {"us", 1'000},        {"µs", 1'000},         {"μs", 1'000},
    {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000}};

const Unit* unit_of(std::string_view text) {
  for (const Unit& unit : kUnits) {
    if (text.starts_with(unit.name)) return &unit;
  }
  return nullptr;
}

// One "1.5h": whole and fraction digits, then the unit; false where malformed or out of range.
bool scan_part(Scan& scan, int64_t& nanos) {
  __extension__ using Wide = __int128;
  constexpr Wide kMax = std::numeric_limits<int64_t>::max();
  Wide whole = 0;
  Wide fraction = 0;
  Wide divisor = 1;
  size_t count = 0;
  for (; !scan.done() && base::is_digit(scan.rest().front()); scan.drop(1), ++count) {
    whole = std::min(whole * 10 + (scan.rest().front() - '0'), kMax + 1);
  }
  if (scan.literal('.')) {
    for (; !scan.done() && base::is_digit(scan.rest().front()); scan.drop(1), ++count) {
      if (divisor >= 1'000'000'000'000'000) continue;
      fraction = fraction * 10 + (scan.rest().front() - '0');
      divisor *= 10;
    }
  }
  const Unit* unit = unit_of(scan.rest());
  if (count == 0 || unit == nullptr) return false;
  scan.drop(unit->name.size());
  const Wide total = nanos + whole * unit->nanos + fraction * unit->nanos / divisor;
  if (total > kMax) return false;
  nanos = static_cast<int64_t>(total);
  return true;
}

// "1.5", without trailing zeros.
std::string decimal(uint64_t value, uint64_t unit) {
  std::string text = fmt::to_string(value / unit);
  uint64_t rest = value % unit;
  if (rest == 0) return text;
  text += '.';
  for (uint64_t place = unit / 10; rest != 0; place /= 10) {
    text += static_cast<char>('0' + rest / place);
    rest %= place;
  }
  return text;
}

template <class T>
bool read_time(Reader& reader, const Json& value, T& out) {
  if (value.is_null()) return true;
  const auto parsed = Time::parse(value.as_string());
  if (!parsed) return reader.fail(value, "must be a time such as 2026-11-30T08:00:00Z");
  if constexpr (std::is_same_v<T, Time>) {
    out = *parsed;
  } else {
    out.time = *parsed;
  }
  return true;
}

template <class T>
TypeInfo time_type() {
  TypeInfo type = describe_detail::scalar("string", "date-time");
  type.read = [](const TypeInfo&, Reader& reader, const Json& value, void* object) {
    return read_time(reader, value, *static_cast<T*>(object));
  };
  type.write = [](const TypeInfo&, JsonWriter& out, const void* object) {
    out.string(static_cast<const T*>(object)->text());
  };
  type.absent = [](const TypeInfo&, const void* object) {
    return *static_cast<const T*>(object) == T();
  };
  return type;
}

}  // namespace

base::Result<Time> Time::parse(std::string_view text) {
  Scan scan(text);
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  char separator = 0;
  microseconds fraction{0};
  minutes offset{0};
  const bool well_formed =
      scan.digits(4, year) && scan.literal('-') && scan.digits(2, month) && scan.literal('-') &&
      scan.digits(2, day) && scan.one_of("Tt", separator) && scan.digits(2, hour) &&
      scan.literal(':') && scan.digits(2, minute) && scan.literal(':') && scan.digits(2, second) &&
      scan_fraction(scan, fraction) && scan_offset(scan, offset);
  const year_month_day date{std::chrono::year(year),
                            std::chrono::month(static_cast<unsigned>(month)),
                            std::chrono::day(static_cast<unsigned>(day))};
  if (!well_formed || !date.ok() || hour > 23 || minute > 59 || second > 59) {
    return base::invalid_argument(fmt::format("'{}' is no time of RFC 3339", text.substr(0, 64)));
  }
  const Time time{sys_days(date).time_since_epoch() + hours(hour) + minutes(minute) +
                  seconds(second) + fraction - offset};
  // An offset must not lead out of the years that four digits can say.
  const auto year_in_utc = year_month_day(floor<days>(sys_days() + time.since_epoch)).year();
  if (year_in_utc < std::chrono::year(0) || year_in_utc > std::chrono::year(9999)) {
    return base::invalid_argument(fmt::format("'{}' is out of range", text.substr(0, 64)));
  }
  return time;
}

std::string Time::text() const { return to_text(*this, false); }
std::string MicroTime::text() const { return to_text(time, true); }

base::Result<Duration> Duration::parse(std::string_view text) {
  const auto malformed = [&] {
    return base::invalid_argument(
        fmt::format("'{}' is no duration such as 1m30s", text.substr(0, 64)));
  };
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return Duration{};
  if (rest.empty()) return malformed();
  Scan scan(rest);
  int64_t nanos = 0;
  while (!scan.done()) {
    if (!scan_part(scan, nanos)) return malformed();
  }
  return Duration{nanoseconds(negative ? -nanos : nanos)};
}

std::string Duration::text() const {
  if (value.count() == 0) return "0s";
  const std::string sign = value.count() < 0 ? "-" : "";
  auto nanos = static_cast<uint64_t>(value.count());
  if (value.count() < 0) nanos = 0 - nanos;
  if (nanos < 1'000) return fmt::format("{}{}ns", sign, nanos);
  if (nanos < 1'000'000) return fmt::format("{}{}µs", sign, decimal(nanos, 1'000));
  if (nanos < 1'000'000'000) return fmt::format("{}{}ms", sign, decimal(nanos, 1'000'000));
  const uint64_t whole_minutes = nanos / 60'000'000'000;
  std::string text = sign;
  if (whole_minutes >= 60) text += fmt::format("{}h", whole_minutes / 60);
  if (whole_minutes > 0) text += fmt::format("{}m", whole_minutes % 60);
  return text + decimal(nanos % 60'000'000'000, 1'000'000'000) + 's';
}

const TypeInfo& type_of(const Time*) {
  static const TypeInfo kType = time_type<Time>();
  return kType;
}

const TypeInfo& type_of(const MicroTime*) {
  static const TypeInfo kType = time_type<MicroTime>();
  return kType;
}

const TypeInfo& type_of(const Duration*) {
  static const TypeInfo kType = [] {
    TypeInfo type = describe_detail::scalar("string", "");
    type.read = [](const TypeInfo&, Reader& reader, const Json& value, void* object) {
      const auto parsed = Duration::parse(value.as_string());
      if (!parsed) return reader.fail(value, "must be a duration such as 15s or 1m30s");
      *static_cast<Duration*>(object) = *parsed;
      return true;
    };
    type.write = [](const TypeInfo&, JsonWriter& out, const void* object) {
      out.string(static_cast<const Duration*>(object)->text());
    };
    return type;
  }();
  return kType;
}

}  // namespace fairlead::api
