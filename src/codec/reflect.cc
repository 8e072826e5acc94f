#include "codec/reflect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fairlead::codec::reflect {
namespace {

// "from 1 to 65535", "at least 1", "at most 9", or nothing: only limits that somebody set.
std::string range_text(std::string_view low, std::string_view high) {
  if (!low.empty() && !high.empty()) return fmt::format(" from {} to {}", low, high);
  if (!low.empty()) return fmt::format(" at least {}", low);
  if (!high.empty()) return fmt::format(" at most {}", high);
  return "";
}

std::string integer_range(const Limits& limits) {
  const bool low = limits.integer_min != std::numeric_limits<int64_t>::min();
  const bool high = limits.integer_max < static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  return range_text(low ? fmt::to_string(limits.integer_min) : "",
                    high ? fmt::to_string(limits.integer_max) : "");
}

std::string number_range(const Limits& limits) {
  return range_text(std::isfinite(limits.number_min) ? fmt::to_string(limits.number_min) : "",
                    std::isfinite(limits.number_max) ? fmt::to_string(limits.number_max) : "");
}

std::string size_range(const Limits& limits) {
  const bool high = limits.integer_max != std::numeric_limits<uint64_t>::max();
  const base::Bytes low(static_cast<uint64_t>(limits.integer_min));
  return range_text(limits.integer_min > 0 ? base::to_string(low) : "",
                    high ? base::to_string(base::Bytes(limits.integer_max)) : "");
}

std::string duration_range(const Limits& limits) {
  const base::Nanos high(static_cast<int64_t>(limits.integer_max));
  return range_text(limits.integer_min > 0 ? base::to_string(base::Nanos(limits.integer_min)) : "",
                    high != base::Nanos::max() ? base::to_string(high) : "");
}

bool within(const Limits& limits, uint64_t value) {
  return value <= limits.integer_max &&
         (limits.integer_min <= 0 || value >= static_cast<uint64_t>(limits.integer_min));
}

bool listed(std::string_view one_of, std::string_view text) {
  while (true) {
    const size_t bar = one_of.find('|');
    if (one_of.substr(0, bar) == text) return true;
    if (bar == std::string_view::npos) return false;
    one_of.remove_prefix(bar + 1);
  }
}

}  // namespace

bool read_bool(Reader& reader, const Json& value, bool& out) {
  if (!value.is_bool()) return reader.fail(value, "must be true or false");
  out = value.as_bool();
  return true;
}

bool read_integer(Reader& reader, const Json& value, const Limits& limits, uint64_t& out) {
  bool valid = value.is_integer();
  if (valid && value.as_int() < 0) {
    valid = value.as_int() >= limits.integer_min;
    out = static_cast<uint64_t>(value.as_int());
  } else if (valid) {
    out = value.as_uint();
    valid = within(limits, out);
  }
  return valid || reader.fail(value, fmt::format("must be an integer{}", integer_range(limits)));
}

bool read_double(Reader& reader, const Json& value, const Limits& limits, double& out) {
  out = value.as_double();
  return (value.is_number() && std::isfinite(out) && out >= limits.number_min &&
          out <= limits.number_max) ||
         reader.fail(value, fmt::format("must be a number{}", number_range(limits)));
}

bool read_string(Reader& reader, const Json& value, const Limits& limits, std::string& out) {
  if (!value.is_string()) return reader.fail(value, "must be a string (quote it)");
  if (!limits.one_of.empty() && !listed(limits.one_of, value.as_string())) {
    return reader.fail(value, fmt::format("must be one of {}", limits.one_of));
  }
  out = value.as_string();
  return true;
}

bool read_bytes(Reader& reader, const Json& value, const Limits& limits, base::Bytes& out) {
  bool valid = value.is_integer() && value.as_int() >= 0;
  if (valid) out = base::Bytes(value.as_uint());
  if (value.is_string()) {
    const auto parsed = base::parse_bytes(value.as_string());
    valid = parsed.ok();
    if (valid) out = *parsed;
  }
  return (valid && within(limits, out.count)) ||
         reader.fail(value, fmt::format("must be a size such as 64MiB{}", size_range(limits)));
}

bool read_nanos(Reader& reader, const Json& value, const Limits& limits, base::Nanos& out) {
  // A bare number has no unit; only 0 needs none.
  const auto parsed =
      base::parse_duration(value.is_string() ? value.as_string() : to_string(value));
  if (parsed && within(limits, static_cast<uint64_t>(parsed->count()))) {
    out = *parsed;
    return true;
  }
  return reader.fail(
      value, fmt::format("must be a duration such as 500ms or 1h30m{}", duration_range(limits)));
}

bool read_enum(Reader& reader, const Json& value, std::span<const std::string> names, size_t& out) {
  const auto it = std::find(names.begin(), names.end(), value.as_string());
  if (!value.is_string() || it == names.end()) {
    return reader.fail(value, fmt::format("must be one of {}", fmt::join(names, "|")));
  }
  out = static_cast<size_t>(it - names.begin());
  return true;
}

std::string enum_name(std::string_view enumerator) {
  if (enumerator.size() > 1 && enumerator[0] == 'k') enumerator.remove_prefix(1);
  std::string name;
  for (const char c : enumerator) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !name.empty()) name.push_back('-');
    name.push_back(upper ? static_cast<char>(c | 0x20) : c);
  }
  return name;
}

std::string type_text(ValueKind kind, const Limits& limits, std::span<const std::string> names,
                      FieldShape shape) {
  std::string text;
  switch (kind) {
    case ValueKind::kBool:
      text = "bool";
      break;
    case ValueKind::kInteger:
      text = "integer" + integer_range(limits);
      break;
    case ValueKind::kDouble:
      text = "number" + number_range(limits);
      break;
    case ValueKind::kString:
      text = limits.one_of.empty() ? "string" : std::string(limits.one_of);
      break;
    case ValueKind::kEnum:
      text = fmt::format("{}", fmt::join(names, "|"));
      break;
    case ValueKind::kSize:
      text = "size" + size_range(limits);
      break;
    case ValueKind::kDuration:
      text = "duration" + duration_range(limits);
      break;
    case ValueKind::kStruct:
      text = "mapping";
      break;
  }
  return shape == FieldShape::kList ? "list of " + text : text;
}

}  // namespace fairlead::codec::reflect
