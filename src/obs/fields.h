// Key-value pairs of log lines, and the two forms in which they are printed.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/clock.h"

namespace fairlead::obs {

enum class LineFormat { kText, kJson };

// Views: valid while the line is being formatted.
struct Field {
  using Value = std::variant<std::string_view, int64_t, uint64_t, double, bool>;

  Field(std::string_view k, std::string_view v) : key(k), value(v) {}
  Field(std::string_view k, const char* v) : key(k), value(std::string_view(v)) {}
  Field(std::string_view k, const std::string& v) : key(k), value(std::string_view(v)) {}
  Field(std::string_view k, bool v) : key(k), value(v) {}
  template <std::signed_integral T>
  Field(std::string_view k, T v) : key(k), value(int64_t{v}) {}
  template <std::unsigned_integral T>
  Field(std::string_view k, T v) : key(k), value(uint64_t{v}) {}
  template <std::floating_point T>
  Field(std::string_view k, T v) : key(k), value(double{v}) {}

  std::string_view key;
  Value value;
};

// Text: ` key=value`, quoted and escaped where the value would not read as one word.
// JSON: `,"key":value`.
void append_field(std::string& out, const Field& field, LineFormat format);
// The part before the value.
void append_key(std::string& out, std::string_view key, LineFormat format);
// "2026-11-29T17:38:09.123Z", without quotes.
void append_time(std::string& out, base::WallTime time);

}  // namespace fairlead::obs
