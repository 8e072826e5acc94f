// Characters of wire formats, whatever the locale.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace fairlead::base {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

inline std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return lowered(c); });
  return out;
}

// Without the spaces and tabs around it.
constexpr std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace fairlead::base
