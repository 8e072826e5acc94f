#include "obs/exposition.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/ascii.h"
#include "base/float_text.h"

namespace fairlead::obs {
namespace {

bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// Python's client prints repr(), but from seven digits before the point on it moves the point
// itself and writes "e+0" and the exponent, whatever the exponent's length.
void append_python_number(std::string& out, double value) {
  const size_t start = out.size();
  base::append_float(out, value);
  const size_t dot = out.find('.', start);
  if (value <= 0 || dot == std::string::npos || dot - start <= 6) return;
  if (out.find('e', start) != std::string::npos) return;
  const size_t exponent = dot - start - 1;
  out.erase(dot, 1);
  out.insert(start + 1, 1, '.');
  out.erase(out.find_last_not_of("0.") + 1);
  out.append("e+0").append(std::to_string(exponent));
}

}  // namespace

bool is_label_name(std::string_view name) {
  return !name.empty() && is_alpha(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
    return is_alpha(c) || base::is_digit(c);
  });
}

bool is_metric_name(std::string_view name) {
  const auto allowed = [](char c) { return is_alpha(c) || base::is_digit(c) || c == ':'; };
  return !name.empty() && !base::is_digit(name[0]) &&
         std::all_of(name.begin(), name.end(), allowed);
}

void append_family_head(std::string& out, std::string_view name, std::string_view help,
                        std::string_view type) {
  out.append("# HELP ").append(name).push_back(' ');
  for (const char c : help) {
    if (c == '\\') {
      out.append("\\\\");
    } else if (c == '\n') {
      out.append("\\n");
    } else {
      out.push_back(c);
    }
  }
  out.append("\n# TYPE ").append(name).append(" ").append(type).push_back('\n');
}

void append_label(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append("=\"");
  for (const char c : value) {
    if (c == '\\' || c == '"') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      out.append("\\n");
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

void append_sample(std::string& out, const SeriesText& series, double value, Style style) {
  out.append(series.name);
  if (!series.labels.empty() || !series.more_labels.empty()) {
    out.append("{").append(series.labels).append(series.more_labels);
    out.back() = '}';
  }
  out.push_back(' ');
  append_number(out, value, style);
  out.push_back('\n');
}

void append_number(std::string& out, double value, Style style) {
  if (!std::isfinite(value)) {
    out.append(std::isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
    return;
  }
  if (style == Style::kPython) return append_python_number(out, value);
  char digits[32];
  std::to_chars_result end{};
  if (std::fabs(value) < 1e15 && value == std::trunc(value)) {
    end = std::to_chars(digits, digits + sizeof digits, static_cast<int64_t>(value));
  } else {
    end = std::to_chars(digits, digits + sizeof digits, value);
  }
  out.append(digits, end.ptr);
}

}  // namespace fairlead::obs
