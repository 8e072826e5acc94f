#include "router/debug_server.h"

#include "router/debug_dump.h"

namespace fairlead::router {
namespace {

constexpr std::string_view kDrainPath = "/drain";

// The address of "10.0.0.1:8000" or "[::1]:8000" alone.
std::string without_port(std::string_view address) {
  address = address.substr(0, address.rfind(':'));
  if (address.starts_with('[')) address = address.substr(1, address.size() - 2);
  return std::string(address);
}

}  // namespace

DebugServer::DebugServer(net::Network& network, const BackendControl& backends,
                         const pick::Columns& columns, Drain& drain)
    : backends_(backends),
      columns_(columns),
      drain_(drain),
      server_(network, *this, net::ServerOptions{.body_bytes_max = base::Bytes(0)}) {}

std::optional<net::Refusal> DebugServer::check(const net::RequestHead& head) {
  if (!head.value("origin").empty()) return refusal(403, "not for pages of a browser");
  const bool asks = head.method == "GET" || head.method == "HEAD";
  if (asks || (head.method == "POST" && head.path == kDrainPath)) return std::nullopt;
  net::Refusal refused = refusal(405, "there is only GET here, and POST /drain");
  refused.extra_fields = head.path == kDrainPath ? "Allow: GET, POST\r\n" : "Allow: GET\r\n";
  return refused;
}

rt::Task<void> DebugServer::handle(net::Exchange& exchange) {
  if (exchange.request().path == kDrainPath) {
    if (exchange.request().method == "POST") drain_.begin("POST /drain");
    static_cast<void>(
        co_await exchange.respond({200, "application/json", {}}, to_json(drain_.status())));
    co_return;
  }
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

void DebugServer::hand_over() {
  server_.stop_accepting();
  server_.announce_close();
}

net::Refusal DebugServer::refusal(int status, std::string_view message) {
  return {.status = status,
          .body = std::string(message) + "\n",
          .content_type = "text/plain",
          .extra_fields = {}};
}

}  // namespace fairlead::router
