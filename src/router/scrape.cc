#include "router/scrape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "protocol/metrics_text.h"

namespace fairlead::router {
namespace {

// A count out of a metric, whatever the engine wrote there.
uint32_t count_of(const std::optional<double>& value) {
  constexpr double kCountMax = 1e6;
  if (!value || !(*value > 0)) return 0;
  return static_cast<uint32_t>(std::min(*value, kCountMax));
}

bool broke_off(const base::Error& error) {
  return error.code() == base::ErrorCode::kClosed ||
         error.code() == base::ErrorCode::kConnectionReset;
}

}  // namespace

Scraper::Scraper(net::Network& network, std::shared_ptr<const Backend> backend,
                 ReplicaHealth& health, pick::Columns& columns, ScrapeListener& listener,
                 const ScrapeOptions& options)
    : network_(network),
      backend_(std::move(backend)),
      health_(health),
      columns_(columns),
      listener_(listener),
      options_(options),
      ttft_(options.latency_age_max),
      tpot_(options.latency_age_max) {
  if (!options.authorization.empty()) {
    fields_ = fmt::format("Authorization: {}\r\n", options.authorization);
  }
}

rt::Task<void> Scraper::run() {
  // Where in the interval this replica's turn is; steps prime to 100 spread neighbours.
  const base::Nanos phase = options_.interval * (backend_->slot * 37 % 100) / 100;
  const base::Nanos half = options_.interval / 2;
  bool placed = false;
  for (;;) {
    const base::TimePoint start = now();
    hurried_ = false;
    co_await probe_health();
    const bool ready = health_.health() == pick::Health::kReady;
    if (ready && now() >= models_due_) co_await list_models();
    if (ready && now() >= metrics_due_) {
      // The first sample is wanted at once.
      if (metrics_changed_ && !co_await sleep(start + half)) co_return;
      if (!hurried_) co_await scrape_metrics();
    }
    base::Nanos wait = options_.interval;
    if (!answered_) {
      wait = options_.starting_interval;
    } else if (!placed) {
      placed = true;
      wait = half + phase;
    }
    if (!co_await sleep(std::max(start + wait, now()))) co_return;
    const rt::WaitStatus gap = co_await rt::sleep_until(start + options_.hurry_interval);
    if (gap == rt::WaitStatus::kCancelled) co_return;
  }
}

rt::Task<bool> Scraper::sleep(base::TimePoint until) {
  if (hurried_) co_return true;
  const rt::WaitStatus status = co_await wake_.wait(until);
  co_return status != rt::WaitStatus::kCancelled;
}

rt::Task<void> Scraper::probe_health() {
  health_.probe_sent(now());
  const base::Result<net::FetchAnswer> answer = co_await get("/health", options_.health_timeout);
  if (answer) {
    answered_ = true;
    health_.probe_answered(answer->status, now());
  } else if (answer.error().code() == base::ErrorCode::kCancelled) {
    co_return;
  } else {
    const bool late = answer.error().code() == base::ErrorCode::kDeadlineExceeded;
    health_.probe_failed(
        late ? ReplicaHealth::ProbeFailure::kTimedOut : ReplicaHealth::ProbeFailure::kRefused,
        now());
  }
  listener_.probed(backend_->slot);
}

rt::Task<void> Scraper::list_models() {
  const base::Result<net::FetchAnswer> answer = co_await get("/v1/models", options_.other_timeout);
  models_due_ = base::after(now(), options_.models_retry_interval);
  if (!answer) {
    hurry();  // to /health, before /metrics costs as much time again
    co_return;
  }
  health_.heard(now());
  if (answer->status != 200) co_return;
  base::Result<std::vector<ListedModel>> models = parse_models(answer->body);
  if (!models) co_return;
  models_due_ = base::after(now(), options_.models_interval);
  listener_.listed(backend_->slot, std::move(*models));
}

rt::Task<void> Scraper::scrape_metrics() {
  const uint32_t in_flight_before = columns_.in_flight(backend_->slot);
  const base::Result<net::FetchAnswer> answer = co_await get("/metrics", options_.other_timeout);
  if (!answer) {
    // Whatever it was, /health shows it; asking again at once would only be in its way.
    hurry();
    if (answer.error().code() == base::ErrorCode::kDeadlineExceeded) {
      metrics_due_ = base::after(now(), options_.metrics_retry_interval);
      columns_.set_stale(backend_->slot);
    }
    co_return;
  }
  health_.heard(now());
  if (answer->status != 200) {
    metrics_due_ = base::after(now(), options_.metrics_retry_interval);
    columns_.set_stale(backend_->slot);
    co_return;
  }
  const uint64_t hash = base::hash64(answer->body);
  if (metrics_changed_ && hash == metrics_hash_) {
    if (now() - *metrics_changed_ >= options_.metrics_age_max) columns_.set_stale(backend_->slot);
    co_return;
  }
  metrics_hash_ = hash;
  metrics_changed_ = now();
  const protocol::EngineLoad load = protocol::read_engine_load(answer->body);
  const double usage = load.cache_usage.value_or(0);
  const pick::Latency latency{.ttft = ttft_.update(load.ttft_seconds, load.ttft_count, now()),
                              .tpot = tpot_.update(load.tpot_seconds, load.tpot_count, now())};
  columns_.set_scraped(
      backend_->slot,
      {.running = count_of(load.running),
       .waiting = count_of(load.waiting),
       .kv_usage = static_cast<float>(std::isfinite(usage) ? std::clamp(usage, 0.0, 1.0) : 0.0),
       .latency = latency,
       .at = now()},
      std::max(in_flight_before, columns_.in_flight(backend_->slot)));
}

rt::Task<base::Result<net::FetchAnswer>> Scraper::get(std::string_view target,
                                                      base::Nanos timeout) {
  const bool kept = connection_ != nullptr;
  base::Result<net::FetchAnswer> answer = co_await get_once(target, timeout);
  // A kept connection may have been closed by the engine just now: that says nothing.
  if (!answer && kept && broke_off(answer.error())) answer = co_await get_once(target, timeout);
  co_return answer;
}

rt::Task<base::Result<net::FetchAnswer>> Scraper::get_once(std::string_view target,
                                                           base::Nanos timeout) {
  if (connection_ != nullptr && !connection_->reusable()) connection_.reset();
  if (connection_ == nullptr) {
    const base::TimePoint deadline = base::after(now(), options_.connect_timeout);
    auto stream = co_await connect_to(network_, *backend_, deadline);
    if (!stream) co_return stream.error();
    connection_ = std::make_unique<net::ClientConnection>(std::move(*stream));
  }
  const net::FetchRequest request{.target = target,
                                  .host = backend_->host,
                                  .extra_fields = fields_,
                                  .answer_bytes_max = options_.answer_bytes_max.count};
  const base::TimePoint deadline = base::after(now(), timeout);
  base::Result<net::FetchAnswer> answer = co_await net::fetch(*connection_, request, deadline);
  if (!answer || !connection_->reusable()) connection_.reset();
  if (connection_ != nullptr) connection_->rest();
  co_return answer;
}

}  // namespace fairlead::router
