// Numbers appended to text where a format string would cost more than the rest: heads, framing,
// logs.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string>

namespace fairlead::base {

inline void append_decimal(std::string& out, uint64_t value) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

// Lower case, without leading zeros.
inline void append_hex(std::string& out, uint64_t value) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  out.append(digits.data(), end);
}

// All 16 digits.
inline void append_hex16(std::string& out, uint64_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[(value >> shift) & 15];
}

// Three digits; below 1000.
inline void append_thousandths(std::string& out, uint64_t value) {
  out += static_cast<char>('0' + value / 100);
  out += static_cast<char>('0' + value / 10 % 10);
  out += static_cast<char>('0' + value % 10);
}

}  // namespace fairlead::base
