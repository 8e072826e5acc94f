// YAML documents in files that users have: manifests, and texts that show some between prose.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace fairlead::api {

// Each begins at apiVersion and ends at the first line that is empty or no YAML.
inline std::vector<std::string> documents(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("apiVersion: ")) {
      inside = true;
      found.emplace_back();
    } else if (line.empty() ||
               (line[0] != ' ' && line[0] != '#' && line.find(':') == std::string::npos)) {
      inside = false;
    }
    if (inside) found.back() += line + '\n';
  }
  return found;
}

}  // namespace fairlead::api
