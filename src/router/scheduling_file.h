// The scheduling file (--config): filters and scorers by name, with weights and arguments; its
// shape is Kthena's. Pure.
//
//   scheduler:
//     pluginConfig:
//       - name: least-request
//         args: {maxWaitingRequests: 10}
//     plugins:
//       Filter: {enabled: [least-request]}
//       Score: {enabled: [{name: least-request, weight: 1}, {name: prefix-cache, weight: 2}]}
//
// What is wrong in syntax, type or range refuses the file; what is unknown is left out with a
// warning, so that a file for a newer or another router loads. docs/scheduling.md has every plugin
// and where we read a file in another way than Kthena does.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "pick/policy.h"

namespace fairlead::router {

inline constexpr base::Bytes kSchedulingFileBytesMax{1u << 20};
inline constexpr size_t kSchedulingWarningsMax = 100;

struct Scheduling {
  std::vector<std::string> filters;   // besides those that every policy has
  pick::PolicyOptions options;        // with the weights
  std::vector<std::string> warnings;  // "line 3: scheduler.plugin: ..."

  base::Result<std::unique_ptr<const pick::Policy>> policy() const {
    return pick::Policy::make_weighted(filters, options);
  }
};

// Errors name line and field.
base::Result<Scheduling> parse_scheduling(std::string_view text);

}  // namespace fairlead::router
