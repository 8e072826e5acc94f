#include "router/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <thread>
#include <vector>

#include "base/machine.h"
#include "net/tcp.h"
#include "router/handover.h"
#include "router/router.h"
#include "rt/signals.h"

namespace fairlead::router {
namespace {

// A client's connection and one to an engine for each request; below this many files open at a time
// the operator hears about it.
constexpr uint64_t kFilesWanted = 1 << 20;
constexpr uint64_t kFilesEnough = 1 << 16;

void raise_files(obs::Logger& log) {
  const uint64_t files = base::raise_open_files(kFilesWanted);
  if (files >= kFilesEnough) return;
  log.warn(
      "few files may be open at a time: connections past that wait; raise the hard limit "
      "(ulimit -Hn, LimitNOFILE=)",
      {{"files", files}, {"enough", kFilesEnough}, {"requests", files / 2}});
}

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

// Where listeners come from, the process before this one or the system, and where copies of them
// go, for the process after this one.
class Listeners {
 public:
  Listeners(TakenListeners& before, HandoverServer* after) : before_(before), after_(after) {}

  base::Result<std::unique_ptr<net::Listener>> open(net::TcpNetwork& network,
                                                    const std::string& name,
                                                    const net::Address& address) {
    std::vector<net::Fd> taken = before_.take(name, address);
    auto listener = taken.empty() ? network.listen(address, net::PortSharing::kExclusive)
                                  : network.adopt(std::move(taken.front()));
    if (!listener) return listener.error();
    if (const base::Result<> kept = keep(name, **listener); !kept) return kept.error();
    return listener;
  }

  // Each loop has one or more: those of the process before are shared out, since connections may be
  // queued on any of them, and a loop that none is left for has a new one beside them.
  base::Result<> open_clients(net::TcpNetwork& control, net::Address address,
                              std::vector<std::unique_ptr<ShardThread>>& threads) {
    std::vector<net::Fd> taken = before_.take(kClients, address);
    const base::Result<net::Address> bound =
        taken.empty() ? free_address(control, address) : net::bound_address(taken.front());
    if (!bound) return bound.error();
    const size_t count = std::max(taken.size(), threads.size());
    for (size_t i = 0; i < count; ++i) {
      ShardThread& thread = *threads[i % threads.size()];
      auto listener = i < taken.size() ? thread.network.adopt(std::move(taken[i]))
                                       : thread.network.listen(*bound, net::PortSharing::kShared);
      if (!listener) return listener.error();
      if (const base::Result<> kept = keep(kClients, **listener); !kept) return kept.error();
      thread.shard->listen(std::move(*listener));
    }
    return {};
  }

 private:
  static constexpr const char* kClients = "clients";

  // Bound alone first, so that a port in use is noticed.
  static base::Result<net::Address> free_address(net::TcpNetwork& network,
                                                 const net::Address& address) {
    const auto alone = network.listen(address, net::PortSharing::kExclusive);
    if (!alone) return alone.error();
    return (*alone)->address();
  }
  base::Result<> keep(const std::string& name, const net::Listener& listener) {
    if (after_ == nullptr) return {};
    return after_->add(name, listener);
  }

  TakenListeners& before_;
  HandoverServer* after_;  // nullptr: there will be none
};

// A second signal ends all at once.
rt::Task<void> stop_on_signal(rt::Loop& loop, Drain& drain) {
  rt::Signals signals(loop, {SIGTERM, SIGINT});
  if (co_await signals.next() == 0) co_return;
  drain.begin("signal");
  if (co_await signals.next() != 0) std::_Exit(1);
}

// Once this process serves: the one before may stop, and one after may come.
rt::Task<void> hand_over(Router& router, TakenListeners& before, HandoverServer& after,
                         obs::Logger& log) {
  before.confirm();
  if (const base::Result<> listening = after.listen(); !listening) {
    log.warn("no hand-over to a new process", {{"error", listening.error().describe()}});
    co_return;
  }
  const bool taken = co_await after.run();
  if (taken) router.hand_over();
}

rt::Task<void> close_when_draining(Drain& drain, HandoverServer& after) {
  const rt::WaitStatus status = co_await drain.until_begun();
  if (status == rt::WaitStatus::kReady) after.close();
}

rt::Task<void> control(rt::Loop& loop, Router& router, TakenListeners& before,
                       HandoverServer* after, obs::Logger& log) {
  rt::Scope& scope = co_await rt::current_scope();
  rt::TaskGroup group(scope);
  group.spawn(router.run_control());
  group.spawn(stop_on_signal(loop, router.drain()));
  if (after != nullptr) {
    group.spawn(hand_over(router, before, *after, log));
    group.spawn(close_when_draining(router.drain(), *after));
  }
  co_await router.drain().run();
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
  raise_files(log);
  base::Result<TakenListeners> before = TakenListeners::ask(config.handover);
  if (!before) return before.error();
  // Shards hold streams of their loops: the router goes first.
  std::vector<std::unique_ptr<ShardThread>> threads;
  base::Result<std::unique_ptr<Router>> made =
      Router::make(std::move(config), network, log, std::move(*access));
  if (!made) return made.error();
  Router& router = **made;
  const RouterConfig& settings = router.config();

  for (uint32_t i = 0; i < settings.loops; ++i) {
    threads.push_back(std::make_unique<ShardThread>());
    threads.back()->shard = &router.add_shard(threads.back()->network);
  }
  const base::Result<net::Address> address = address_of(settings.host, settings.port);
  if (!address) return address.error();
  const base::Result<net::Address> metrics = address_of(settings.host, settings.metrics_port);
  if (!metrics) return metrics.error();
  std::optional<HandoverServer> after;
  if (!settings.handover.empty()) after.emplace(loop, settings.handover, log);
  Listeners listeners(*before, after ? &*after : nullptr);
  if (const base::Result<> open = listeners.open_clients(network, *address, threads); !open) {
    return open.error().wrap("--port");
  }
  auto metrics_listener = listeners.open(network, "metrics", *metrics);
  if (!metrics_listener) return metrics_listener.error().wrap("--metrics-port");
  router.listen_metrics(std::move(*metrics_listener));
  if (settings.debug_port != 0) {
    // Nothing is served worse without it, and a second router of this machine finds the port taken.
    auto debug = listeners.open(
        network, "debug", *net::parse_address(fmt::format("127.0.0.1:{}", settings.debug_port)));
    if (debug) {
      router.listen_debug(std::move(*debug));
    } else {
      log.warn("no debug server", {{"error", debug.error().describe()}});
    }
  }
  log.info("listening", {{"address", net::to_string(*address)},
                         {"metrics", net::to_string(*metrics)},
                         {"policy", router.policy_name()},
                         {"loops", settings.loops}});
  for (auto& thread : threads) {
    thread->thread = std::thread([&t = *thread] { t.loop.block_on(serve(*t.shard)); });
  }
  loop.block_on(control(loop, router, *before, after ? &*after : nullptr, log));
  for (auto& thread : threads) thread->thread.join();
  log.info("stopped");
  return {};
}

}  // namespace fairlead::router
