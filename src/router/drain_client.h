// What `fairlead drain URL` does: asks a router, by its debug port, to drain, and tells how it goes
// until the router has stopped.
//
//   const auto done = co_await drain_router(network, url, {}, [](std::string_view line) {...});
#pragma once

#include <functional>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "codec/described.h"
#include "net/network.h"

namespace fairlead::router {

struct DrainConfig {
  base::Nanos timeout = std::chrono::minutes(2);
  bool wait = true;
};
const codec::StructInfo& info_of(const DrainConfig* config);

// Fails, with what to do, if nothing or something else answers there, and if requests are still
// running at the timeout (the router goes on draining). Asking again is harmless.
rt::Task<base::Result<>> drain_router(net::Network& network, net::HostPort url, DrainConfig config,
                                      std::function<void(std::string_view)> say);

}  // namespace fairlead::router
