// DebugServer: debug_dump() over HTTP, and POST /drain, which has the router drain (GET tells how
// that goes). For the loopback address only: it tells about the insides of a deployment, and stops
// it, and asks nobody for a password; who is on the same machine, or in the same pod, could send a
// signal as well. Pages in a browser there could not, so what carries an Origin is refused. Lives
// on the control loop.
#pragma once

#include "net/http_server.h"
#include "router/backend_control.h"
#include "router/drain.h"

namespace fairlead::router {

class DebugServer final : private net::Handler {
 public:
  // All of them outlive the server.
  DebugServer(net::Network& network, const BackendControl& backends, const pick::Columns& columns,
              Drain& drain);

  void listen(std::unique_ptr<net::Listener> listener) { server_.listen(std::move(listener)); }
  void hand_over();
  // Until its scope is cancelled.
  rt::Task<void> run() { return server_.run(); }

 private:
  std::optional<net::Refusal> check(const net::RequestHead& head) override;
  rt::Task<void> handle(net::Exchange& exchange) override;
  net::Refusal refusal(int status, std::string_view message) override;

  const BackendControl& backends_;
  const pick::Columns& columns_;
  Drain& drain_;
  net::HttpServer server_;
};

}  // namespace fairlead::router
