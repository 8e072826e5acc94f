// DebugServer: debug_dump() over HTTP, for the loopback address only: it tells about the insides of
// a deployment and asks nobody for a password. Lives on the control loop.
#pragma once

#include "net/http_server.h"
#include "router/backend_control.h"

namespace fairlead::router {

class DebugServer final : private net::Handler {
 public:
  // All of them outlive the server.
  DebugServer(net::Network& network, const BackendControl& backends, const pick::Columns& columns);

  base::Result<> listen(const net::Address& address) {
    return server_.listen(address, net::PortSharing::kExclusive);
  }
  // Until its scope is cancelled.
  rt::Task<void> run() { return server_.run(); }

 private:
  rt::Task<void> handle(net::Exchange& exchange) override;
  net::Refusal refusal(int status, std::string_view message) override;

  const BackendControl& backends_;
  const pick::Columns& columns_;
  net::HttpServer server_;
};

}  // namespace fairlead::router
