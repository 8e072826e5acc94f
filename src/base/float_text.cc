#include "base/float_text.h"

#include <charconv>
#include <cmath>
#include <string_view>

namespace fairlead::base {

void append_float(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out.append(std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    return;
  }
  if (std::fabs(value) < 1e15 && value == std::trunc(value) &&
      !(value == 0 && std::signbit(value))) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, static_cast<int64_t>(value)).ptr;
    out.append(digits, end).append(".0");
    return;
  }
  // "d.ddde[+-]xx": the digits and the exponent decide the layout.
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  if (text.front() == '-') {
    out.push_back('-');
    text.remove_prefix(1);
  }
  const size_t e = text.find('e');
  int exponent = 0;
  const char* number = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(number, end, exponent);
  if (exponent < -4 || exponent >= 16) {
    out.append(text);
    return;
  }
  std::string digits(1, text[0]);
  if (e > 2) digits.append(text.substr(2, e - 2));
  if (exponent < 0) {
    out.append("0.").append(static_cast<size_t>(-exponent - 1), '0').append(digits);
    return;
  }
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() < whole) digits.append(whole - digits.size(), '0');
  out.append(digits, 0, whole).push_back('.');
  out.append(digits.size() > whole ? std::string_view(digits).substr(whole) : "0");
}

}  // namespace fairlead::base
