#include "router/shard.h"

#include <fmt/format.h>

#include "base/append.h"
#include "protocol/errors.h"
#include "router/endpoints.h"
#include "router/proxy.h"

namespace fairlead::router {
namespace {

constexpr auto kTick = std::chrono::seconds(1);
constexpr size_t kSnapshotWaitSeconds = 5;

net::ServerOptions server_options(SharedState& shared, size_t index) {
  const RouterConfig& config = shared.config;
  net::ServerOptions options;
  options.body_bytes_max = config.body_bytes_max;
  options.body_rate_min = config.body_rate_min;
  options.head_timeout = config.head_timeout;
  options.idle_timeout = config.idle_timeout;
  options.held_bodies = &shared.held_bodies;
  options.loop = index;
  options.tls = shared.tls;
  return options;
}

net::Refusal refuse(int status, std::string message, std::string type, std::string code,
                    std::string extra_fields = {}) {
  net::Refusal refusal;
  refusal.status = status;
  protocol::append_error(refusal.body, {.status = status,
                                        .message = std::move(message),
                                        .type = std::move(type),
                                        .code = std::move(code)});
  refusal.extra_fields = std::move(extra_fields);
  return refusal;
}

// The same object with a count of its own, which only this shard's thread touches.
template <class T>
std::shared_ptr<const T> counted_here(std::shared_ptr<const T> shared) {
  if (shared == nullptr) return nullptr;
  auto own = std::make_shared<std::shared_ptr<const T>>(std::move(shared));
  const T* object = own->get();
  return std::shared_ptr<const T>(std::move(own), object);
}

}  // namespace

Shard::Shard(net::Network& network, SharedState& shared, size_t index, uint64_t seed)
    : network_(network),
      shared_(shared),
      index_(index),
      metrics_(shared.metrics, index),
      policy_(shared.policy),
      keys_(shared.keys),
      chooser_(*policy_, shared.columns, shared.index),
      pick_timer_(network.loop().clock(), metrics_),
      random_(seed),
      hasher_(policy_->hashing()),
      traffic_(shared.columns.slots()),
      snapshot_(std::make_shared<const Snapshot>(std::span<const pick::Table::Replica>())),
      backends_(shared.columns.slots()),
      pools_(shared.columns.slots()),
      waiting_(shared.columns.slots()),
      read_room_(new char[kReadRoomBytes]),
      server_(network, *this, server_options(shared, index)) {}

rt::Task<void> Shard::run() {
  // What each pick writes comes from this thread's memory, away from that of other shards.
  chooser_.use(*policy_);
  hasher_ = cache_index::PrefixHasher(policy_->hashing());
  rt::Scope& scope = co_await rt::current_scope();
  rt::TaskGroup background(scope);
  background.spawn(tick());
  background.spawn(enforce_drain());
  co_await server_.run();
  background.cancel(rt::CancelReason::kShutdown);
  static_cast<void>(co_await background.join());
  // Idle connections belong to this loop.
  pools_.clear();
  ended_.store(true, std::memory_order_release);
}

void Shard::drain(base::Nanos timeout) {
  loop().post([this, timeout] {
    drain_deadline_ = base::after(loop().now(), timeout);
    server_.stop_accepting();
    server_.drain();
    drain_started_.notify_all();
  });
}

void Shard::hand_over() {
  loop().post([this] {
    server_.stop_accepting();
    server_.announce_close();
  });
}

rt::Task<void> Shard::enforce_drain() {
  while (drain_deadline_ == base::kNever) {
    if (co_await drain_started_.wait() == rt::WaitStatus::kCancelled) co_return;
  }
  static_cast<void>(co_await server_.drained(drain_deadline_));
}

// Idle connections to engines are closed in time and gauges follow.
rt::Task<void> Shard::tick() {
  for (;;) {
    metrics_.connections.set(static_cast<double>(server_.connections()));
    const rt::WaitStatus status = co_await rt::sleep_until(base::after(loop().now(), kTick));
    if (status == rt::WaitStatus::kCancelled) break;
    for (Pool& pool : pools_) {
      if (pool.connections != nullptr) pool.connections->sweep();
    }
  }
  metrics_.connections.set(0);
}

std::optional<net::Refusal> Shard::check(const net::RequestHead& head) {
  const Endpoint& endpoint = find_endpoint(head.path);
  const bool known = endpoint.kind != EndpointKind::kUnknown;
  // A browser sends this question without a key.
  if (known && shared_.cors.on() && Cors::is_preflight(head)) {
    return answer_preflight(endpoint, head);
  }
  std::optional<net::Refusal> refusal = refuse_unless_keyed(endpoint, head);
  if (refusal) {
    // Without a key it is told nothing else.
  } else if (!known) {
    refusal = refuse(404, fmt::format("404 page not found: there is nothing at {}.", head.path),
                     "invalid_request_error", "not_found");
  } else if (head.method != endpoint.method &&
             !(head.method == "HEAD" && endpoint.method == "GET")) {
    refusal = refuse(
        405, fmt::format("Method {} is not allowed here, only {}.", head.method, endpoint.method),
        "invalid_request_error", "method_not_allowed",
        fmt::format("Allow: {}\r\n", endpoint.method));
  } else if (head.upgrade) {
    refusal =
        refuse(501, "Upgrades are not supported.", "invalid_request_error", "not_implemented");
  } else if (endpoint.method == "POST") {
    const std::string_view encoding = head.value("content-encoding");
    if (!encoding.empty() && !net::equals_ignoring_case(encoding, "identity")) {
      refusal = refuse(
          415,
          "Compressed request bodies are not supported: send the body without Content-Encoding.",
          "invalid_request_error", "unsupported_media_type");
    }
  }
  if (refusal) {
    count_refused(endpoint.path.empty() ? ShardMetrics::kOtherPath : endpoint.path,
                  refusal->status);
    log_local(head, refusal->status, net::reason_phrase(refusal->status), base::Nanos(0));
  }
  return refusal;
}

// What costs an engine work, or shows what there is, wants a key.
std::optional<net::Refusal> Shard::refuse_unless_keyed(const Endpoint& endpoint,
                                                       const net::RequestHead& head) const {
  const bool open = endpoint.kind == EndpointKind::kHealthz ||
                    endpoint.kind == EndpointKind::kReadyz ||
                    (endpoint.kind == EndpointKind::kUnknown && !head.path.starts_with("/v1/"));
  if (keys_ == nullptr || open) return std::nullopt;
  const std::string_view key = presented_key(head);
  if (keys_->accepts(key)) return std::nullopt;
  return refuse(401,
                key.empty() ? "You didn't provide an API key: send it as Authorization: Bearer KEY."
                            : "Incorrect API key provided.",
                "invalid_request_error", "invalid_api_key", "WWW-Authenticate: Bearer\r\n");
}

net::Refusal Shard::answer_preflight(const Endpoint& endpoint, const net::RequestHead& head) {
  if (!shared_.cors.allows(head.value("origin"))) {
    count_refused(endpoint.path, 403);
    log_local(head, 403, net::reason_phrase(403), base::Nanos(0));
    return refuse(403, "Pages of this origin may not ask here.", "invalid_request_error",
                  "origin_not_allowed");
  }
  log_local(head, 200, {}, base::Nanos(0));
  net::Refusal answer;
  answer.status = 200;
  answer.content_type = {};
  answer.extra_fields = Cors::preflight_fields(head, endpoint.method);
  return answer;
}

net::Refusal Shard::refusal(int status, std::string_view message) {
  count_refused(ShardMetrics::kOtherPath, status);
  std::string text(message);
  if (status == 413) {
    text = fmt::format("The request body is larger than {}.",
                       to_string(shared_.config.body_bytes_max));
  }
  const bool server_side = status >= 500;
  return refuse(status, std::move(text), server_side ? "server_error" : "invalid_request_error",
                status == 413 ? "request_too_large"
                : server_side ? "overloaded"
                              : "bad_request",
                status == 503 ? "Retry-After: 1\r\nx-should-retry: true\r\n" : "");
}

void Shard::count_refused(std::string_view path, int status) {
  metrics_.count_end(metrics_.model(ShardMetrics::kUnknownModel),
                     {.path = path, .status = status, .error_type = "request_failed"});
}

void Shard::log_local(const net::RequestHead& head, int status, std::string_view error_message,
                      base::Nanos duration) {
  if (shared_.access_log == nullptr || !head.path.starts_with("/v1/")) return;
  obs::AccessRecord record;
  record.time = loop().clock().wall() - duration;
  record.method = head.method;
  record.path = head.path;
  record.minor_version = head.minor_version;
  record.status = status;
  if (!error_message.empty()) {
    record.error_type = "request_failed";
    record.error_message = error_message;
    record.error_origin = "router";
  }
  record.request_id = head.value("x-request-id");
  std::string client;
  net::append_ip(client, client_chain(shared_.proxies, head).client());
  record.client_ip = client;
  record.total = record.request_processing = duration;
  shared_.access_log->append(index_, record);
}

rt::Task<void> Shard::handle(net::Exchange& exchange) {
  const Endpoint& endpoint = find_endpoint(exchange.request().path);
  switch (endpoint.kind) {
    case EndpointKind::kHealthz:
      static_cast<void>(
          co_await exchange.respond({200, "application/json", {}}, "{\"message\":\"ok\"}"));
      break;
    case EndpointKind::kReadyz: {
      const bool ready = shared_.ready.load(std::memory_order_relaxed);
      static_cast<void>(co_await exchange.respond(
          {ready ? 200 : 503, "application/json", {}},
          ready ? "{\"message\":\"router is ready\"}" : "{\"message\":\"router is not ready\"}"));
      break;
    }
    case EndpointKind::kModels:
      co_await answer_models(exchange);
      break;
    case EndpointKind::kJson:
    case EndpointKind::kMultipart: {
      Proxy proxy(*this, exchange, endpoint);
      co_await proxy.run();
      break;
    }
    case EndpointKind::kUnknown:
      break;  // check() has refused it
  }
}

rt::Task<void> Shard::answer_models(net::Exchange& exchange) {
  const base::TimePoint began = loop().now();
  const base::TimePoint deadline = base::after(began, std::chrono::seconds(kSnapshotWaitSeconds));
  while (!snapshot_->settled) {
    const rt::WaitStatus status = co_await snapshot_changed_.wait(deadline);
    if (status == rt::WaitStatus::kCancelled) co_return;
    if (status == rt::WaitStatus::kTimedOut) break;
  }
  const std::shared_ptr<const Snapshot> snapshot = snapshot_;
  static_cast<void>(
      co_await exchange.respond({200, "application/json", {}}, snapshot->models_json));
  log_local(exchange.request(), 200, {}, loop().now() - began);
}

void Shard::install(std::shared_ptr<const Snapshot> snapshot) {
  loop().post([this, snapshot = std::move(snapshot)]() mutable {
    snapshot_ = counted_here(std::move(snapshot));
    for (size_t slot = 0; slot < pools_.size(); ++slot) {
      const bool exists = slot < snapshot_->by_slot.size();
      const auto& backend = exists ? snapshot_->by_slot[slot] : nullptr;
      if (backends_[slot] != backend) backends_[slot] = counted_here(backend);
      Pool& pool = pools_[slot];
      if (pool.backend != nullptr && pool.backend != backend) pool = {};
    }
    snapshot_changed_.notify_all();
    shared_.admission.update(snapshot_->table, loop());
  });
}

void Shard::use_policy(std::shared_ptr<const pick::Policy> policy) {
  loop().post([this, policy = std::move(policy)]() mutable {
    chooser_.use(*policy);
    hasher_ = cache_index::PrefixHasher(policy->hashing());
    policy_ = std::move(policy);
  });
}

void Shard::use_keys(std::shared_ptr<const ApiKeys> keys) {
  loop().post([this, keys = std::move(keys)]() mutable { keys_ = std::move(keys); });
}

void Shard::evacuate(pick::Slot slot) {
  loop().post([this, slot] {
    waiting_[slot].for_each(
        [](Waiting& waiting) { waiting.scope.cancel(rt::CancelReason::kReplicaDown); });
    if (pools_[slot].connections != nullptr) pools_[slot].connections->close_idle();
  });
}

std::unique_ptr<net::ClientConnection> Shard::take_connection(
    const std::shared_ptr<const Backend>& backend) {
  Pool& pool = pools_[backend->slot];
  if (pool.backend != backend) {
    pool.backend = backend;
    pool.connections =
        std::make_unique<net::ConnectionPool>(network_, backend->address, net::PoolOptions{});
  }
  return pool.connections->take_idle();
}

void Shard::give_back(const Backend& backend, std::unique_ptr<net::ClientConnection> connection) {
  Pool& pool = pools_[backend.slot];
  if (pool.backend.get() == &backend) pool.connections->give_back(std::move(connection));
}

std::string Shard::take_text() {
  std::string text;
  if (texts_.empty()) {
    text.reserve(kTextBytes);
  } else {
    text = std::move(texts_.back());
    texts_.pop_back();
    text.clear();
  }
  return text;
}

void Shard::give_back(std::string text) {
  if (text.capacity() < kTextBytes || text.capacity() > kTextBytesMax) return;
  if (texts_.size() < kTextsMax) texts_.push_back(std::move(text));
}

rt::PooledString Shard::new_request_id() {
  std::string text = take_text();
  base::append_hex16(text, random_.next());
  base::append_hex16(text, random_.next());
  rt::PooledString id(text);
  give_back(std::move(text));
  return id;
}

}  // namespace fairlead::router
