// `fairlead router`: loops as threads around a Router.
#pragma once

#include "base/result.h"
#include "router/config.h"

namespace fairlead::router {

// Until SIGTERM or SIGINT and the drain that follows; a second signal ends it at once. Fails if the
// configuration is wrong or a port is taken.
base::Result<> run_router(RouterConfig config);

}  // namespace fairlead::router
