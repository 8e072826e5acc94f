// Text in columns: the first to the left, the others to the right. Every line ends with a newline.
#pragma once

#include <string>
#include <vector>

namespace fairlead::workload {

// No line may have more cells than the first.
std::string align_columns(const std::vector<std::vector<std::string>>& cells);

}  // namespace fairlead::workload
