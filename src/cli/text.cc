#include "cli/text.h"

#include <algorithm>

namespace fairlead::cli {
namespace {

// The part of `text` that fits, cut at a space; always some of it.
std::string_view take_line(std::string_view& text, size_t width) {
  size_t end = text.size();
  if (end > width) {
    end = text.rfind(' ', width);
    if (end == std::string_view::npos || end == 0) end = std::min(text.find(' '), text.size());
  }
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

void append_entry(std::string& out, std::string_view left, std::string_view text, size_t column) {
  out += "  ";
  out += left;
  if (left.size() + 4 > column) {
    out += '\n';
    append_wrapped(out, text, column);
    return;
  }
  out.append(column - left.size() - 2, ' ');
  out += take_line(text, kTextWidth - column);
  out += '\n';
  append_wrapped(out, text, column);
}

void append_wrapped(std::string& out, std::string_view text, size_t indent) {
  while (!text.empty()) {
    out.append(indent, ' ');
    out += take_line(text, kTextWidth - indent);
    out += '\n';
  }
}

}  // namespace fairlead::cli
