// What `fairlead router --check-config` does: reads the files that the flags name as a start would,
// without starting anything.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "router/config.h"

namespace fairlead::router {

struct ConfigCheck {
  size_t backends = 0;
  std::vector<std::string> warnings;  // "router.yaml: line 3: ..."
};

// Of a configuration that validate() takes. Errors name file, line and field.
base::Result<ConfigCheck> check_config(const RouterConfig& config);

}  // namespace fairlead::router
