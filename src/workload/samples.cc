#include "workload/samples.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead::workload {

uint32_t RunLog::replica_index(std::string_view name) {
  const auto it = std::find(replicas.begin(), replicas.end(), name);
  if (it == replicas.end()) {
    replicas.emplace_back(name);
    return static_cast<uint32_t>(replicas.size() - 1);
  }
  return static_cast<uint32_t>(it - replicas.begin());
}

std::string error_kind(const Sample& sample) {
  switch (sample.outcome) {
    case Outcome::kOk:
      return "none";
    case Outcome::kHttpStatus:
      return fmt::format("http {}", sample.status);
    case Outcome::kConnect:
      return "no connection";
    case Outcome::kReset:
      return "connection reset";
    case Outcome::kTimeout:
      return "timed out";
    case Outcome::kProtocol:
      return "broken answer";
    case Outcome::kStreamError:
      return "error event";
    case Outcome::kNotSent:
      return "not sent";
  }
  return "unknown";
}

}  // namespace fairlead::workload
