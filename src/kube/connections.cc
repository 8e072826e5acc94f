#include "kube/connections.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fairlead::kube {
namespace {

// For one of several addresses, so that a dead one does not use up the whole time.
constexpr std::chrono::seconds kConnectTime{5};

}  // namespace

rt::Task<base::Result<std::unique_ptr<net::ByteStream>>> Connections::open(
    const net::TlsClient* tls, base::TimePoint deadline) {
  const Access& access = credentials_.access();
  const base::Result<std::vector<net::Address>> addresses =
      co_await network_.resolve(access.server, deadline);
  if (!addresses) co_return addresses.error();
  base::Error error(base::ErrorCode::kUnavailable,
                    fmt::format("{} has no address", access.server.host));
  for (const net::Address& address : *addresses) {
    const base::TimePoint until =
        std::min(deadline, base::after(network_.loop().now(), kConnectTime));
    base::Result<std::unique_ptr<net::ByteStream>> stream =
        co_await network_.connect(address, until);
    if (!stream) {
      error = stream.error();
      if (error.code() == base::ErrorCode::kCancelled) co_return error;
      continue;
    }
    if (tls == nullptr) co_return std::move(stream);
    const std::string name = access.server_name.empty() ? access.server.host : access.server_name;
    co_return co_await net::start_tls(std::move(*stream), *tls, name, deadline);
  }
  co_return error;
}

rt::Task<base::Result<std::unique_ptr<Connections::Connection>>> Connections::connect(
    base::TimePoint deadline) {
  base::Result<std::shared_ptr<net::TlsClient>> tls = co_await credentials_.tls();
  if (!tls) co_return tls.error();
  base::Result<std::unique_ptr<net::ByteStream>> stream = co_await open(tls->get(), deadline);
  if (!stream) co_return stream.error().wrap("the API server");
  co_return std::unique_ptr<Connection>(
      new Connection{std::move(*tls), net::ClientConnection(std::move(*stream))});
}

rt::Task<base::Result<std::unique_ptr<Connections::Connection>>> Connections::take(
    base::TimePoint deadline) {
  base::Result<std::shared_ptr<net::TlsClient>> tls = co_await credentials_.tls();
  if (!tls) co_return tls.error();
  while (!idle_.empty()) {
    Idle last = std::move(idle_.back());
    idle_.pop_back();
    const bool fresh = network_.loop().now() - last.since < kIdleTime;
    if (fresh && last.connection->tls == *tls && last.connection->http.reusable()) {
      co_return std::move(last.connection);
    }
  }
  co_return co_await connect(deadline);
}

void Connections::give_back(std::unique_ptr<Connection> connection) {
  if (!connection->http.reusable() || idle_.size() >= kIdleMax) return;
  connection->http.rest();
  connection->used = true;
  idle_.push_back({std::move(connection), network_.loop().now()});
}

}  // namespace fairlead::kube
