#include "router/check_config.h"

#include "router/backends_file.h"
#include "router/scheduling_file.h"
#include "router/watched_file.h"

namespace fairlead::router {

base::Result<ConfigCheck> check_config(const RouterConfig& config) {
  ConfigCheck check{.backends = config.backend.size(), .warnings = {}};
  if (!config.backends_file.empty()) {
    const auto hosts = BackendsFile(config.backends_file).changed();
    if (!hosts) return hosts.error();
    check.backends = (*hosts)->size();
  }
  if (config.config.empty()) return check;
  const auto content = WatchedFile(config.config, kSchedulingFileBytesMax).changed();
  if (!content) return content.error();
  const auto scheduling = parse_scheduling(**content);
  if (!scheduling) return scheduling.error().wrap(config.config);
  if (auto policy = scheduling->policy(); !policy) return policy.error().wrap(config.config);
  for (const std::string& warning : scheduling->warnings) {
    check.warnings.push_back(config.config + ": " + warning);
  }
  return check;
}

}  // namespace fairlead::router
