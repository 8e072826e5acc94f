#include "router/backends.h"

namespace fairlead::router {

rt::Task<base::Result<std::unique_ptr<net::ByteStream>>> connect_to(net::Network& network,
                                                                    const Backend& backend,
                                                                    base::TimePoint deadline) {
  if (backend.tls == nullptr) co_return co_await network.connect(backend.address, deadline);
  co_return co_await net::connect_tls(network, *backend.tls, backend.address, backend.tls_host,
                                      deadline);
}

}  // namespace fairlead::router
