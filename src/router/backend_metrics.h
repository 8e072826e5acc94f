// What the metrics say of each back end, read when they are asked for.
#pragma once

#include "obs/metrics.h"
#include "pick/columns.h"
#include "router/backend_control.h"

namespace fairlead::router {

// Both outlive the registry's use.
void register_backend_metrics(obs::Registry& registry, const BackendControl& backends,
                              const pick::Columns& columns);

}  // namespace fairlead::router
