#include "chaos_proxy.h"

#include <array>

namespace fairlead::kube {

ChaosProxy::ChaosProxy(net::Network& network, net::Address target, ChaosOptions options)
    : network_(network),
      target_(target),
      options_(options),
      random_(options.seed),
      listener_(std::move(
          *network.listen(*net::parse_address("127.0.0.1:0"), net::PortSharing::kExclusive))),
      group_(network.loop()) {
  group_.spawn(accept());
}

rt::Task<void> ChaosProxy::stop() {
  group_.cancel(rt::CancelReason::kShutdown);
  static_cast<void>(co_await group_.join());
}

rt::Task<void> ChaosProxy::accept() {
  while (true) {
    base::Result<std::unique_ptr<net::ByteStream>> stream = co_await listener_->accept();
    if (!stream) co_return;
    ++connections_;
    group_.spawn(relay(std::move(*stream)));
  }
}

rt::Task<void> ChaosProxy::relay(std::unique_ptr<net::ByteStream> client) {
  const base::TimePoint deadline = network_.loop().now() + std::chrono::seconds(5);
  base::Result<std::unique_ptr<net::ByteStream>> server =
      co_await network_.connect(target_, deadline);
  if (!server) {
    client->abort();
    co_return;
  }
  rt::TaskGroup pumps(co_await rt::current_scope());
  pumps.spawn(pump(*client, **server, Carries::kRequests));
  pumps.spawn(pump(**server, *client, Carries::kAnswers));
  static_cast<void>(co_await pumps.join());
}

rt::Task<void> ChaosProxy::pump(net::ByteStream& from, net::ByteStream& to, Carries what) {
  std::array<char, 16 * 1024> buffer;
  while (true) {
    size_t room = buffer.size();
    if (!calm_ && random_.uniform() < options_.split) {
      ++splits_;
      room = 1 + random_.below(200);
    }
    const base::Result<size_t> n = co_await net::read_some(from, std::span(buffer).first(room));
    if (!n || *n == 0) {
      if (n) {
        to.shutdown_write();
      } else {
        to.abort();
      }
      co_return;
    }
    if (!calm_ && random_.uniform() < options_.cut) {
      ++cuts_;
      from.abort();
      to.abort();
      co_return;
    }
    if (!calm_ && random_.uniform() < options_.delay) {
      ++delays_;
      const auto wait =
          static_cast<int64_t>(random_.uniform() * static_cast<double>(options_.delay_max.count()));
      co_await rt::sleep_until(network_.loop().now() + base::Nanos(wait));
    }
    if (held_ && what == Carries::kAnswers) co_await rt::sleep_until(base::kNever);
    const base::Result<> written = co_await net::write_all(to, std::string_view(buffer.data(), *n));
    if (!written) {
      from.abort();
      co_return;
    }
  }
}

}  // namespace fairlead::kube
