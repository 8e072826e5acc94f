// Router: everything of a router but its threads. The control part (back ends, metrics port) runs
// on one loop, each shard on a loop that may be the same one: tests run a whole router, its engines
// and its clients on one virtual loop.
//
//   auto router = Router::make(config, control_network, log, access_sink);
//   (*router)->add_shard(network);                       // config.loops times, then
//   group.spawn((*router)->run_control());  other.spawn(shard.run());
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "obs/sink.h"
#include "router/api_key_control.h"
#include "router/backend_control.h"
#include "router/debug_server.h"
#include "router/drain.h"
#include "router/scheduling_control.h"
#include "router/shard.h"
#include "router/span_exporter.h"
#include "router/tls_control.h"

namespace fairlead::router {

class Router final : private net::Handler {
 public:
  // `config.loops` must be the number of shards that will be added, at least 1.
  static base::Result<std::unique_ptr<Router>> make(RouterConfig config, net::Network& control,
                                                    obs::Logger& log, obs::Sink access_sink);
  ~Router() override;

  // Before run_control().
  Shard& add_shard(net::Network& network);
  base::Result<> listen_metrics(const net::Address& address);
  void listen_metrics(std::unique_ptr<net::Listener> listener);
  // Without it there is no debug server.
  base::Result<> listen_debug(const net::Address& address);
  void listen_debug(std::unique_ptr<net::Listener> listener);
  net::Address metrics_address() const { return metrics_server_->address(); }

  // Until its scope is cancelled; ready from the first turn on.
  rt::Task<void> run_control();
  // Another process has all listeners, too, and goes on with them: this one drains. On the control
  // loop, as is drain().
  void hand_over();
  Drain& drain() { return *drain_; }

  std::string exposition() const;
  std::vector<obs::FamilyInfo> describe_metrics() const { return registry_.describe(); }
  const pick::Columns& columns() const { return columns_; }
  const RetryBudget& retry_budget() const { return retry_budget_; }
  const RouterConfig& config() const { return config_; }
  std::string_view policy_name() const { return policy_->name(); }
  std::vector<std::unique_ptr<Shard>>& shards() { return shards_; }

 private:
  Router(RouterConfig config, net::Network& control, std::shared_ptr<const pick::Policy> policy);
  BackendOptions backend_options(std::string_view authorization) const;
  void start_tracing(obs::Logger& log);
  void register_callbacks();

  rt::Task<void> handle(net::Exchange& exchange) override;
  net::Refusal refusal(int status, std::string_view message) override;

  RouterConfig config_;
  net::Network& control_;
  std::shared_ptr<const pick::Policy> policy_;     // at the start
  std::unique_ptr<ApiKeyControl> api_keys_;        // nullptr: anybody may ask
  std::unique_ptr<SchedulingControl> scheduling_;  // nullptr: a preset, which does not change
  pick::Columns columns_;
  cache_index::PrefixIndex index_;
  Admission admission_;
  RetryBudget retry_budget_;
  obs::Registry registry_;
  RouterMetrics metrics_;
  net::ByteBudget held_bodies_;
  std::unique_ptr<TlsControl> tls_;  // outlives shards and back ends
  std::optional<obs::AccessLog> access_log_;
  std::optional<obs::SpanBuffer> spans_;
  std::string instance_;  // what tells this process from others in traces
  std::unique_ptr<SpanExporter> span_exporter_;
  std::unique_ptr<BackendControl> backends_;
  std::unique_ptr<SharedState> shared_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::unique_ptr<Drain> drain_;
  std::unique_ptr<net::HttpServer> metrics_server_;
  std::unique_ptr<DebugServer> debug_server_;
};

}  // namespace fairlead::router
