#include "router/run.h"

#include <fmt/format.h>

#include <csignal>
#include <thread>
#include <vector>

#include "base/duration.h"
#include "base/machine.h"
#include "net/tcp.h"
#include "router/router.h"
#include "rt/signals.h"

namespace fairlead::router {
namespace {

// One shard's thread.
struct ShardThread {
  rt::Loop loop;
  net::TcpNetwork network{loop};
  Shard* shard = nullptr;
  std::thread thread;
};

rt::Task<void> serve(Shard& shard) { co_await shard.run(); }

base::Result<net::Address> address_of(const std::string& host, uint16_t port) {
  base::Result<std::vector<net::Address>> found = net::resolve_blocking({host, port});
  if (!found) return found.error().wrap("--host");
  if (found->empty())
    return base::invalid_argument(fmt::format("--host: '{}' has no address", host));
  return found->front();
}

// The port is first bound alone, so that one in use is noticed; then once a loop.
base::Result<> listen_all(net::TcpNetwork& control, const net::Address& address,
                          std::vector<std::unique_ptr<ShardThread>>& threads) {
  net::Address bound;
  {
    base::Result<std::unique_ptr<net::Listener>> alone =
        control.listen(address, net::PortSharing::kExclusive);
    if (!alone) return alone.error();
    bound = (*alone)->address();
  }
  for (auto& thread : threads) {
    base::Result<> listening = thread->shard->listen(bound, net::PortSharing::kShared);
    if (!listening) return listening;
  }
  return {};
}

rt::Task<void> wait_for_end(rt::Loop& loop, Router& router, obs::Logger& log) {
  rt::Signals signals(loop, {SIGTERM, SIGINT});
  const RouterConfig& config = router.config();
  static_cast<void>(co_await signals.next());
  router.not_ready();
  log.info("draining", {{"delay", base::to_string(config.drain_delay)},
                        {"timeout", base::to_string(config.drain_timeout)}});
  // Load balancers notice late: requests are still taken for a while. A second signal ends all at
  // once.
  struct Second {
    static rt::Task<void> exits(rt::Signals& more) {
      if (co_await more.next() != 0) std::_Exit(1);
    }
  };
  rt::Scope& scope = co_await rt::current_scope();
  rt::TaskGroup second(scope);
  second.spawn(Second::exits(signals));
  co_await rt::sleep_until(base::after(loop.now(), config.drain_delay));
  for (auto& shard : router.shards()) shard->drain(config.drain_timeout);
  for (auto& shard : router.shards()) {
    while (!shard->ended())
      co_await rt::sleep_until(base::after(loop.now(), std::chrono::milliseconds(10)));
  }
  second.cancel(rt::CancelReason::kShutdown);
  static_cast<void>(co_await second.join());
}

rt::Task<void> control(rt::Loop& loop, Router& router, obs::Logger& log) {
  rt::Scope& scope = co_await rt::current_scope();
  rt::TaskGroup group(scope);
  group.spawn(router.run_control());
  co_await wait_for_end(loop, router, log);
  group.cancel(rt::CancelReason::kShutdown);
  static_cast<void>(co_await group.join());
}

}  // namespace

base::Result<> run_router(RouterConfig config) {
  rt::block_signals({SIGTERM, SIGINT});
  std::signal(SIGPIPE, SIG_IGN);
  if (config.loops == 0) config.loops = base::usable_cpus();
  const base::Result<obs::LogLevel> level = obs::parse_log_level(config.log_level);
  if (!level) return level.error();
  base::Result<obs::Sink> access = obs::file_sink("-");
  if (!access) return access.error();

  rt::Loop loop;
  net::TcpNetwork network(loop);
  obs::Logger log(loop.clock(), {.level = *level});
  base::Result<std::unique_ptr<Router>> made =
      Router::make(std::move(config), network, log, std::move(*access));
  if (!made) return made.error();
  Router& router = **made;
  const RouterConfig& settings = router.config();

  std::vector<std::unique_ptr<ShardThread>> threads;
  for (uint32_t i = 0; i < settings.loops; ++i) {
    threads.push_back(std::make_unique<ShardThread>());
    threads.back()->shard = &router.add_shard(threads.back()->network);
  }
  const base::Result<net::Address> address = address_of(settings.host, settings.port);
  if (!address) return address.error();
  const base::Result<net::Address> metrics = address_of(settings.host, settings.metrics_port);
  if (!metrics) return metrics.error();
  if (const base::Result<> listening = listen_all(network, *address, threads); !listening)
    return listening.error().wrap("--port");
  if (const base::Result<> listening = router.listen_metrics(*metrics); !listening) {
    return listening.error().wrap("--metrics-port");
  }
  if (settings.debug_port != 0) {
    // Nothing is served worse without it, and a second router of this machine finds the port taken.
    const auto debug = net::parse_address(fmt::format("127.0.0.1:{}", settings.debug_port));
    if (const base::Result<> listening = router.listen_debug(*debug); !listening) {
      log.warn("no debug server", {{"error", listening.error().describe()}});
    }
  }
  log.info("listening", {{"address", net::to_string(*address)},
                         {"metrics", net::to_string(*metrics)},
                         {"policy", router.policy_name()},
                         {"loops", settings.loops}});
  for (auto& thread : threads) {
    thread->thread = std::thread([&t = *thread] { t.loop.block_on(serve(*t.shard)); });
  }
  loop.block_on(control(loop, router, log));
  for (auto& thread : threads) thread->thread.join();
  log.info("stopped");
  // Shards hold streams of their loops: the router goes first.
  made->reset();
  return {};
}

}  // namespace fairlead::router
