// Shard: the data plane of one event loop. It accepts connections, picks replicas and relays
// answers; it shares with other shards only what is immutable or atomic (SharedState).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/cache_line.h"
#include "base/random.h"
#include "cache_index/prefix_hasher.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "obs/access_log.h"
#include "obs/log.h"
#include "obs/trace.h"
#include "pick/chooser.h"
#include "router/admission.h"
#include "router/api_keys.h"
#include "router/backends.h"
#include "router/client_address.h"
#include "router/config.h"
#include "router/cors.h"
#include "router/endpoints.h"
#include "router/metrics.h"
#include "router/pick_timer.h"
#include "router/retry_budget.h"
#include "rt/pooled.h"

namespace fairlead::router {

// What all shards of a process share; outlives them.
struct SharedState {
  const RouterConfig& config;
  std::shared_ptr<const pick::Policy> policy;  // at the start
  pick::Columns& columns;
  cache_index::PrefixIndex& index;
  RouterMetrics& metrics;
  obs::AccessLog* access_log;  // nullptr: off
  obs::SpanBuffer* spans;      // nullptr: off
  obs::Logger& log;
  net::ByteBudget& held_bodies;
  FailureSink& failures;
  Admission& admission;
  RetryBudget& retry_budget;
  net::TlsServer* tls = nullptr;                  // nullptr: plain HTTP
  std::shared_ptr<const ApiKeys> keys = nullptr;  // at the start; nullptr: anybody may ask
  TrustedProxies proxies = {};
  Cors cors = {};
  std::string backend_authorization;  // value of the Authorization field for engines; may be empty
  std::atomic<bool> ready{false};     // what /readyz says
};

// An attempt that waits for its first body byte; linked into its shard so that it can be told to
// leave.
struct Waiting : rt::ListNode {
  explicit Waiting(rt::Scope& s) : scope(s) {}
  rt::Scope& scope;
};

class alignas(base::kCacheLine) Shard final : public net::Handler, public ShardControl {
 public:
  Shard(net::Network& network, SharedState& shared, size_t index, uint64_t seed);

  base::Result<> listen(const net::Address& address, net::PortSharing sharing) {
    return server_.listen(address, sharing);
  }
  void listen(std::unique_ptr<net::Listener> listener) { server_.listen(std::move(listener)); }
  net::Address address() const { return server_.address(); }
  // Serves until the listener is closed and all connections have ended, or its scope is cancelled.
  rt::Task<void> run();
  net::HttpServer& server() { return server_; }
  // Any thread. Closes the listener; what runs may take `timeout`. run() then returns, and ended()
  // says so.
  void drain(base::Nanos timeout);
  // Any thread. Another process has the listener, too, and goes on with it: closes it here, and
  // says Connection: close in every answer. Connections that idle stay until drain().
  void hand_over();
  // Any thread. Requests that have not been answered.
  uint64_t requests() const { return static_cast<uint64_t>(metrics_.in_flight.get()); }
  bool ended() const { return ended_.load(std::memory_order_acquire); }

  // net::Handler
  std::optional<net::Refusal> check(const net::RequestHead& head) override;
  rt::Task<void> handle(net::Exchange& exchange) override;
  net::Refusal refusal(int status, std::string_view message) override;
  void append_fields(std::string& out, const net::RequestHead& head) const override {
    shared_.cors.append_answer_fields(out, head);
  }

  // ShardControl: from the control loop.
  void install(std::shared_ptr<const Snapshot> snapshot) override;
  void evacuate(pick::Slot slot) override;
  // From the next pick on.
  void use_policy(std::shared_ptr<const pick::Policy> policy);
  // From the next request on.
  void use_keys(std::shared_ptr<const ApiKeys> keys);
  const Traffic& traffic() const override { return traffic_; }

  // For proxied requests, on this shard's loop.
  SharedState& shared() { return shared_; }
  rt::Loop& loop() { return network_.loop(); }
  size_t index() const { return index_; }
  ShardMetrics& metrics() { return metrics_; }
  pick::Chooser& chooser() { return chooser_; }
  PickTimer& pick_timer() { return pick_timer_; }
  const pick::Policy& policy() const { return *policy_; }
  base::Random& random() { return random_; }
  cache_index::PrefixHasher& hasher() { return hasher_; }
  Traffic& own_traffic() { return traffic_; }
  // Counted by this shard alone, as are the back ends: a count that all shards write for each
  // request would cost each of them a cache miss.
  const std::shared_ptr<const Snapshot>& snapshot() const { return snapshot_; }
  // The back end at a slot of the snapshot; nullptr where there is none.
  const std::shared_ptr<const Backend>& backend(pick::Slot slot) const { return backends_[slot]; }
  rt::WaitList& snapshot_changed() { return snapshot_changed_; }
  net::Network& network() { return network_; }
  // An idle connection to the replica, or nullptr; and one to be used again.
  std::unique_ptr<net::ClientConnection> take_connection(
      const std::shared_ptr<const Backend>& backend);
  void give_back(const Backend& backend, std::unique_ptr<net::ClientConnection> connection);
  rt::List<Waiting>& waiting(pick::Slot slot) { return waiting_[slot]; }
  // Room to read into between two suspensions.
  std::span<char> read_room() { return {read_room_.get(), kReadRoomBytes}; }
  rt::PooledString new_request_id();
  // An empty string with room for a head, to be given back: heads then need no memory of their own.
  std::string take_text();
  void give_back(std::string text);

 private:
  static constexpr size_t kReadRoomBytes = 64 * 1024;
  static constexpr size_t kTextBytes = 512;
  static constexpr size_t kTextBytesMax = 8 * 1024;
  static constexpr size_t kTextsMax = 64;
  struct Pool {
    std::shared_ptr<const Backend> backend;
    std::unique_ptr<net::ConnectionPool> connections;
  };
  rt::Task<void> tick();
  rt::Task<void> enforce_drain();
  rt::Task<void> answer_models(net::Exchange& exchange);
  std::optional<net::Refusal> refuse_unless_keyed(const Endpoint& endpoint,
                                                  const net::RequestHead& head) const;
  net::Refusal answer_preflight(const Endpoint& endpoint, const net::RequestHead& head);
  void count_refused(std::string_view path, int status);
  // A line for a request under /v1/ that no replica is asked for.
  void log_local(const net::RequestHead& head, int status, std::string_view error_message,
                 base::Nanos duration);

  net::Network& network_;
  SharedState& shared_;
  size_t index_;
  ShardMetrics metrics_;
  std::shared_ptr<const pick::Policy> policy_;
  std::shared_ptr<const ApiKeys> keys_;
  pick::Chooser chooser_;
  PickTimer pick_timer_;
  base::Random random_;
  cache_index::PrefixHasher hasher_;
  Traffic traffic_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::vector<std::shared_ptr<const Backend>> backends_;  // by slot
  rt::WaitList snapshot_changed_;
  std::vector<Pool> pools_;                     // by slot
  base::LineArray<rt::List<Waiting>> waiting_;  // by slot
  std::unique_ptr<char[]> read_room_;
  std::vector<std::string> texts_;
  net::HttpServer server_;
  base::TimePoint drain_deadline_ = base::kNever;
  rt::WaitList drain_started_;
  std::atomic<bool> ended_{false};
};

}  // namespace fairlead::router
