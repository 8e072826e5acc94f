#include "router/router.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/append.h"
#include "base/machine.h"
#include "router/backend_metrics.h"

namespace fairlead::router {
namespace {

constexpr uint64_t kHeldShareOfMemory = 4;
// In each family: the models that are told apart, times the ways in which their requests end.
constexpr size_t kSeriesMax = 10 * ShardMetrics::kModelsMax;

base::Bytes held_limit(const RouterConfig& config) {
  if (config.held_bytes_max.count > 0) return config.held_bytes_max;
  return base::Bytes(base::memory_limit().count / kHeldShareOfMemory);
}

base::Result<std::string> read_key(const std::string& path) {
  const auto failed = [&path](std::string_view why) {
    return base::invalid_argument(fmt::format("--backend-api-key-file {}: {}", path, why));
  };
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return failed("cannot be read");
  char text[4096];
  const size_t n = std::fread(text, 1, sizeof text, file);
  std::fclose(file);
  std::string key(text, n);
  while (!key.empty() && (key.back() == '\n' || key.back() == '\r' || key.back() == ' '))
    key.pop_back();
  const bool visible =
      std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (key.empty() || n == sizeof text || !visible)
    return failed("must hold one key of visible characters");
  return key;
}

base::Result<std::shared_ptr<const pick::Policy>> preset(const RouterConfig& config) {
  auto policy = pick::Policy::make(config.policy ? *config.policy : pick::Policy::names()[0], {});
  if (!policy) return policy.error();
  return std::shared_ptr<const pick::Policy>(std::move(*policy));
}

}  // namespace

Router::Router(RouterConfig config, net::Network& control,
               std::shared_ptr<const pick::Policy> policy)
    : config_(std::move(config)),
      control_(control),
      policy_(std::move(policy)),
      columns_(config_.backends_max),
      index_({.bytes_max = config_.index_bytes_max, .slots = config_.backends_max}),
      admission_({.in_flight_max = config_.backend_requests_max,
                  .requests_max = config_.queue_requests_max,
                  .bytes_max = config_.queue_bytes_max},
                 columns_),
      retry_budget_({}, config_.loops),
      registry_({.shards = config_.loops, .series_max = kSeriesMax}),
      metrics_(registry_, FAIRLEAD_VERSION, policy_->name()),
      held_bodies_(held_limit(config_), config_.loops) {}

Router::~Router() = default;

base::Result<std::unique_ptr<Router>> Router::make(RouterConfig config, net::Network& control,
                                                   obs::Logger& log, obs::Sink access_sink) {
  CHECK(config.loops > 0, "the number of loops is known");
  if (const base::Result<> valid = validate(config); !valid) return valid.error();
  std::string authorization;
  if (!config.backend_api_key_file.empty()) {
    const base::Result<std::string> key = read_key(config.backend_api_key_file);
    if (!key) return key.error();
    authorization = "Bearer " + *key;
  }
  std::unique_ptr<ApiKeyControl> api_keys;
  SharedKeys keys;
  if (!config.api_key_file.empty()) {
    api_keys = std::make_unique<ApiKeyControl>(config.api_key_file, control.loop(), log);
    base::Result<SharedKeys> loaded = api_keys->load();
    if (!loaded) return loaded.error().wrap("--api-key-file");
    keys = std::move(*loaded);
  }
  std::unique_ptr<SchedulingControl> scheduling;
  if (!config.config.empty()) {
    scheduling = std::make_unique<SchedulingControl>(config.config, control.loop(), log);
  }
  auto policy = scheduling != nullptr ? scheduling->load() : preset(config);
  if (!policy) return policy.error();
  std::unique_ptr<Router> router(new Router(std::move(config), control, std::move(*policy)));
  router->api_keys_ = std::move(api_keys);
  router->scheduling_ = std::move(scheduling);
  if (router->config_.access_log != AccessLogFormat::kOff) {
    const bool json = router->config_.access_log == AccessLogFormat::kJson;
    const bool virtual_time = control.loop().is_virtual();
    router->access_log_.emplace(
        std::move(access_sink),
        obs::AccessLogOptions{.shards = router->config_.loops,
                              .format = json ? obs::LineFormat::kJson : obs::LineFormat::kText,
                              .interval = virtual_time
                                              ? base::Nanos(0)
                                              : base::Nanos(std::chrono::milliseconds(200))});
  }
  if (!router->config_.otlp_endpoint.empty()) router->start_tracing(log);
  base::Result<std::unique_ptr<TlsControl>> tls = TlsControl::make(router->config_, log);
  if (!tls) return tls.error();
  router->tls_ = std::move(*tls);
  router->backends_ = std::make_unique<BackendControl>(control, router->columns_, router->index_,
                                                       log, router->backend_options(authorization));
  if (const base::Result<> loaded = router->backends_->load(); !loaded) return loaded.error();
  router->shared_.reset(
      new SharedState{.config = router->config_,
                      .policy = router->policy_,
                      .columns = router->columns_,
                      .index = router->index_,
                      .metrics = router->metrics_,
                      .access_log = router->access_log_ ? &*router->access_log_ : nullptr,
                      .spans = router->spans_ ? &*router->spans_ : nullptr,
                      .log = log,
                      .held_bodies = router->held_bodies_,
                      .failures = *router->backends_,
                      .admission = router->admission_,
                      .retry_budget = router->retry_budget_,
                      .tls = router->tls_->server(),
                      .keys = std::move(keys),
                      .proxies = *TrustedProxies::parse(router->config_.trusted_proxies),
                      .cors = *Cors::parse(router->config_.cors_origins),
                      .backend_authorization = std::move(authorization)});
  router->drain_ = std::make_unique<Drain>(control.loop(), *router->shared_, router->shards_);
  router->register_callbacks();
  return router;
}

void Router::start_tracing(obs::Logger& log) {
  spans_.emplace(obs::SpanBufferOptions{.shards = config_.loops});
  base::append_hex16(instance_, config_.seed == 0 ? base::random_seed() : config_.seed);
  SpanExporterOptions options;
  options.collector = *net::parse_backend_url(config_.otlp_endpoint);
  options.resource = {
      .service = "fairlead-router", .version = FAIRLEAD_VERSION, .instance = instance_};
  span_exporter_ = std::make_unique<SpanExporter>(control_, *spans_, log, options);
}

BackendOptions Router::backend_options(std::string_view authorization) const {
  BackendOptions options;
  options.scrape.authorization = authorization;
  options.backends_file = config_.backends_file;
  options.tls = tls_->client();
  options.ejections = {.breaker = {.failures_max = config_.breaker_failures,
                                   .error_share = config_.breaker_error_share,
                                   .window = config_.breaker_window,
                                   .open_min = config_.breaker_open,
                                   .open_max = 12 * config_.breaker_open},
                       .ejected_share_max = config_.ejected_share_max,
                       .slow_start = config_.slow_start};
  for (const std::string& url : config_.backend)
    options.backends.push_back(*net::parse_backend_url(url, net::Schemes::kHttpAndHttps));
  return options;
}

Shard& Router::add_shard(net::Network& network) {
  base::Random seeds(config_.seed == 0 ? base::random_seed() : config_.seed + shards_.size());
  shards_.push_back(std::make_unique<Shard>(network, *shared_, shards_.size(), seeds.next()));
  backends_->add_shard(*shards_.back());
  return *shards_.back();
}

void Router::register_callbacks() {
  tls_->register_metrics(registry_);
  registry_.callback(obs::MetricType::kGauge, "fairlead_api_keys", "Keys of clients in use.", {},
                     [this](obs::Samples& samples) {
                       if (api_keys_) samples.add({}, static_cast<double>(api_keys_->keys()));
                     });
  registry_.callback(obs::MetricType::kCounter, "fairlead_api_key_file_errors_total",
                     "Changes of the file with clients' keys that were refused.", {},
                     [this](obs::Samples& samples) {
                       if (api_keys_)
                         samples.add({}, static_cast<double>(api_keys_->errors_total()));
                     });
  registry_.callback(obs::MetricType::kGauge, "fairlead_reservations",
                     "Picks that have not ended yet.", {}, [this](obs::Samples& samples) {
                       uint64_t total = 0;
                       for (uint32_t slot = 0; slot < columns_.slots(); ++slot) {
                         total += columns_.in_flight(static_cast<pick::Slot>(slot));
                       }
                       samples.add({}, static_cast<double>(total));
                     });
  register_backend_metrics(registry_, *backends_, columns_);
  registry_.callback(obs::MetricType::kGauge, "fairlead_retries_left",
                     "How many attempts the budget of retries still lets move now.", {},
                     [this](obs::Samples& samples) {
                       samples.add({}, retry_budget_.left(control_.loop().now()));
                     });
  registry_.callback(obs::MetricType::kGauge, "kthena_router_prefix_cache_entries",
                     "Pairs of block and replica in the prefix index.", {},
                     [this](obs::Samples& samples) {
                       samples.add({}, static_cast<double>(index_.stats().entries));
                     });
  registry_.callback(obs::MetricType::kGauge, "fairlead_prefix_index_entries_limit",
                     "Room of the prefix index.", {}, [this](obs::Samples& samples) {
                       samples.add({}, static_cast<double>(index_.stats().entries_max));
                     });
  registry_.callback(obs::MetricType::kCounter, "kthena_router_prefix_cache_evictions_total",
                     "Pairs given up for newer ones; models share the index.", {"model"},
                     [this](obs::Samples& samples) {
                       samples.add({"_all"}, static_cast<double>(index_.stats().evictions));
                     });
  registry_.callback(
      obs::MetricType::kGauge, "fairlead_held_body_bytes", "Request bodies held.", {},
      [this](obs::Samples& samples) { samples.add({}, static_cast<double>(held_bodies_.used())); });
  registry_.callback(obs::MetricType::kGauge, "fairlead_held_body_bytes_limit",
                     "Bound of request bodies held.", {}, [this](obs::Samples& samples) {
                       samples.add({}, static_cast<double>(held_bodies_.limit()));
                     });
  registry_.callback(obs::MetricType::kGauge, "fairlead_queue_requests",
                     "Requests that wait for room at a replica.", {},
                     [this](obs::Samples& samples) { samples.add({}, admission_.requests()); });
  registry_.callback(
      obs::MetricType::kGauge, "fairlead_queue_requests_limit", "Bound of requests that wait.", {},
      [this](obs::Samples& samples) { samples.add({}, config_.queue_requests_max); });
  registry_.callback(
      obs::MetricType::kGauge, "fairlead_queue_bytes", "Bodies of the requests that wait.", {},
      [this](obs::Samples& samples) { samples.add({}, static_cast<double>(admission_.bytes())); });
  registry_.callback(obs::MetricType::kGauge, "fairlead_queue_bytes_limit",
                     "Bound of bodies of the requests that wait.", {},
                     [this](obs::Samples& samples) {
                       samples.add({}, static_cast<double>(config_.queue_bytes_max.count));
                     });
  registry_.callback(obs::MetricType::kCounter, "fairlead_access_log_dropped_total",
                     "Access log lines lost to full buffers.", {}, [this](obs::Samples& samples) {
                       samples.add({},
                                   access_log_ ? static_cast<double>(access_log_->dropped()) : 0);
                     });
  registry_.callback(obs::MetricType::kCounter, "fairlead_trace_spans_exported_total",
                     "Spans that the collector took.", {}, [this](obs::Samples& samples) {
                       if (span_exporter_ == nullptr) return;
                       samples.add({}, static_cast<double>(span_exporter_->exported()));
                     });
  registry_.callback(obs::MetricType::kCounter, "fairlead_trace_spans_dropped_total",
                     "Spans lost, to full buffers or because the collector did not take them.",
                     {"reason"}, [this](obs::Samples& samples) {
                       if (span_exporter_ == nullptr) return;
                       samples.add({"buffer"}, static_cast<double>(spans_->dropped()));
                       samples.add({"export"}, static_cast<double>(span_exporter_->failed()));
                     });
  registry_.callback(obs::MetricType::kCounter, "fairlead_backends_refused_total",
                     "Addresses that found no free slot.", {}, [this](obs::Samples& samples) {
                       samples.add({}, static_cast<double>(backends_->refused_total()));
                     });
  registry_.callback(obs::MetricType::kCounter, "fairlead_backends_file_errors_total",
                     "Reloads of the back-ends file that failed.", {},
                     [this](obs::Samples& samples) {
                       samples.add({}, static_cast<double>(backends_->file_errors_total()));
                     });
  registry_.callback(obs::MetricType::kCounter, "fairlead_config_reloads_total",
                     "Changes of the configuration file that were taken over.", {},
                     [this](obs::Samples& samples) {
                       if (scheduling_)
                         samples.add({}, static_cast<double>(scheduling_->reloads_total()));
                     });
  registry_.callback(obs::MetricType::kCounter, "fairlead_config_errors_total",
                     "Changes of the configuration file that were refused.", {},
                     [this](obs::Samples& samples) {
                       if (scheduling_)
                         samples.add({}, static_cast<double>(scheduling_->errors_total()));
                     });
  registry_.callback(
      obs::MetricType::kGauge, "fairlead_config_current",
      "1: what the configuration file says is in use; 0: it was refused, and one before it is.", {},
      [this](obs::Samples& samples) {
        if (scheduling_) samples.add({}, scheduling_->current() ? 1 : 0);
      });
  registry_.callback(obs::MetricType::kGauge, "fairlead_config_warnings",
                     "Unknown or unused parts of the configuration in use.", {},
                     [this](obs::Samples& samples) {
                       if (scheduling_)
                         samples.add({}, static_cast<double>(scheduling_->warnings()));
                     });
  registry_.callback(obs::MetricType::kCounter, "fairlead_bugs_total",
                     "Assertions that failed and were survived.", {}, [](obs::Samples& samples) {
                       samples.add({}, static_cast<double>(base::soft_checks_failed()));
                     });
}

base::Result<> Router::listen_metrics(const net::Address& address) {
  auto listener = control_.listen(address, net::PortSharing::kExclusive);
  if (!listener) return listener.error();
  listen_metrics(std::move(*listener));
  return {};
}

void Router::listen_metrics(std::unique_ptr<net::Listener> listener) {
  net::Handler& handler = *this;
  metrics_server_ = std::make_unique<net::HttpServer>(
      control_, handler, net::ServerOptions{.body_bytes_max = base::Bytes(0)});
  metrics_server_->listen(std::move(listener));
}

base::Result<> Router::listen_debug(const net::Address& address) {
  auto listener = control_.listen(address, net::PortSharing::kExclusive);
  if (!listener) return listener.error();
  listen_debug(std::move(*listener));
  return {};
}

void Router::listen_debug(std::unique_ptr<net::Listener> listener) {
  debug_server_ = std::make_unique<DebugServer>(control_, *backends_, columns_, *drain_);
  debug_server_->listen(std::move(listener));
}

void Router::hand_over() {
  drain_->begin("handed over", Drain::Listeners::kHandedOver);
  if (metrics_server_ != nullptr) {
    metrics_server_->stop_accepting();
    metrics_server_->announce_close();
  }
  if (debug_server_ != nullptr) debug_server_->hand_over();
}

rt::Task<void> Router::run_control() {
  rt::Scope& scope = co_await rt::current_scope();
  rt::TaskGroup group(scope);
  group.spawn(backends_->run());
  group.spawn(tls_->run(control_.loop()));
  group.spawn(admission_.run(control_.loop()));
  if (metrics_server_ != nullptr) group.spawn(metrics_server_->run());
  if (span_exporter_ != nullptr) group.spawn(span_exporter_->run());
  if (debug_server_ != nullptr) group.spawn(debug_server_->run());
  const SchedulingControl::Use use = [this](const SchedulingControl::SharedPolicy& policy) {
    for (const auto& shard : shards_) shard->use_policy(policy);
  };
  if (scheduling_ != nullptr) group.spawn(scheduling_->run(use));
  const ApiKeyControl::Use use_keys = [this](const SharedKeys& keys) {
    for (const auto& shard : shards_) shard->use_keys(keys);
  };
  if (api_keys_ != nullptr) group.spawn(api_keys_->run(use_keys));
  shared_->ready.store(true, std::memory_order_relaxed);
  static_cast<void>(co_await group.join());
}

std::string Router::exposition() const {
  std::string text;
  registry_.expose(text);
  return text;
}

rt::Task<void> Router::handle(net::Exchange& exchange) {
  const std::string_view path = exchange.request().path;
  if (path == "/metrics") {
    const std::string text = exposition();
    static_cast<void>(co_await exchange.respond(
        {200, obs::Registry::content_type(obs::Style::kPrometheus), {}}, text));
  } else if (path == "/healthz") {
    static_cast<void>(co_await exchange.respond({200, "text/plain", {}}, "ok\n"));
  } else if (path == "/readyz") {
    const bool ready = shared_->ready.load(std::memory_order_relaxed);
    static_cast<void>(co_await exchange.respond({ready ? 200 : 503, "text/plain", {}},
                                                ready ? "ok\n" : "draining\n"));
  } else {
    static_cast<void>(co_await exchange.respond({404, "text/plain", {}},
                                                "here are /metrics, /healthz and /readyz\n"));
  }
}

net::Refusal Router::refusal(int status, std::string_view message) {
  return {.status = status,
          .body = std::string(message) + "\n",
          .content_type = "text/plain",
          .extra_fields = {}};
}

}  // namespace fairlead::router
