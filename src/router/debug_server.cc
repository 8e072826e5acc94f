#include "router/debug_server.h"

#include "router/debug_dump.h"

namespace fairlead::router {
namespace {

// The address of "10.0.0.1:8000" or "[::1]:8000" alone.
std::string without_port(std::string_view address) {
  address = address.substr(0, address.rfind(':'));
  if (address.starts_with('[')) address = address.substr(1, address.size() - 2);
  return std::string(address);
}

}  // namespace

DebugServer::DebugServer(net::Network& network, const BackendControl& backends,
                         const pick::Columns& columns)
    : backends_(backends),
      columns_(columns),
      server_(network, *this, net::ServerOptions{.body_bytes_max = base::Bytes(0)}) {}

rt::Task<void> DebugServer::handle(net::Exchange& exchange) {
  std::vector<DebugPod> pods;
  for (const BackendStatus& status : backends_.status()) {
    pods.push_back({.name = status.name,
                    .address = without_port(net::to_string(status.address)),
                    .health = status.health,
                    .in_flight = columns_.in_flight(status.slot),
                    .scraped = columns_.scraped(status.slot),
                    .models = backends_.models(status.slot)});
  }
  const DebugAnswer answer = debug_dump(exchange.request().path, pods);
  static_cast<void>(
      co_await exchange.respond({answer.status, "application/json", {}}, answer.json));
}

net::Refusal DebugServer::refusal(int status, std::string_view message) {
  return {.status = status,
          .body = std::string(message) + "\n",
          .content_type = "text/plain",
          .extra_fields = {}};
}

}  // namespace fairlead::router
