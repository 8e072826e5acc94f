#include "workload/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead::workload {

std::string align_columns(const std::vector<std::vector<std::string>>& cells) {
  std::vector<size_t> widths(cells.front().size());
  for (const auto& line : cells) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string out;
  for (const auto& line : cells) {
    std::string text = fmt::format("{:<{}}", line[0], widths[0]);
    for (size_t i = 1; i < line.size(); ++i) text += fmt::format("  {:>{}}", line[i], widths[i]);
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  }
  return out;
}

}  // namespace fairlead::workload
