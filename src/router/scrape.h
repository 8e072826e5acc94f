// Scraper: asks one replica how it is, over one kept connection: /health, then half an interval
// later /metrics, and from time to time /v1/models. Lives on the control loop.
//
// The first probe goes out at once, later ones are spread over the interval by slot. A replica that
// has never answered is asked more often, so that an engine which has just started is used soon. An
// engine without /metrics (404) is asked for it seldom, and is as good as any other.
//
// Frozen metrics: an engine's exposition changes with every request, so one that stays the same to
// the byte for `metrics_age_max` says nothing about the present: its sample becomes stale. So does
// that of an engine whose /metrics hangs, while /health is asked as before.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_client.h"
#include "net/network.h"
#include "pick/columns.h"
#include "router/backends.h"
#include "router/health.h"
#include "router/interval_mean.h"
#include "router/models.h"
#include "rt/waiter.h"

namespace fairlead::router {

struct ScrapeOptions {
  base::Nanos interval = std::chrono::seconds(1);
  base::Nanos starting_interval = std::chrono::milliseconds(200);
  base::Nanos hurry_interval = std::chrono::milliseconds(100);
  base::Nanos connect_timeout = std::chrono::seconds(1);
  base::Nanos health_timeout = std::chrono::seconds(5);
  // Of /metrics and /v1/models; short, because /health waits for it and silence shows only there.
  base::Nanos other_timeout = std::chrono::seconds(1);
  base::Nanos models_interval = std::chrono::seconds(10);
  base::Nanos models_retry_interval = std::chrono::seconds(1);    // without a list to show for it
  base::Nanos metrics_retry_interval = std::chrono::seconds(10);  // after a 404, or no answer
  base::Nanos metrics_age_max = std::chrono::seconds(10);
  base::Nanos latency_age_max = std::chrono::seconds(10);  // without a new observation
  base::Bytes answer_bytes_max{8u << 20};
  std::string authorization;  // value of the field, empty: none
};

class ScrapeListener {
 public:
  virtual ~ScrapeListener() = default;
  // The replica's ReplicaHealth was told something.
  virtual void probed(pick::Slot slot) = 0;
  virtual void listed(pick::Slot slot, std::vector<ListedModel> models) = 0;
};

class Scraper {
 public:
  // All references outlive run().
  Scraper(net::Network& network, std::shared_ptr<const Backend> backend, ReplicaHealth& health,
          pick::Columns& columns, ScrapeListener& listener, const ScrapeOptions& options);

  // Until its scope is cancelled.
  rt::Task<void> run();
  // Asks as soon as `hurry_interval` allows instead of when it is next due.
  void hurry() {
    hurried_ = true;
    wake_.notify_all();
  }
  void list_models_again() { models_due_ = base::TimePoint{}; }
  // When the metrics last changed; nothing if there were none.
  std::optional<base::TimePoint> metrics_changed() const { return metrics_changed_; }

 private:
  rt::Task<void> probe_health();
  rt::Task<void> scrape_metrics();
  rt::Task<void> list_models();
  rt::Task<base::Result<net::FetchAnswer>> get(std::string_view target, base::Nanos timeout);
  rt::Task<base::Result<net::FetchAnswer>> get_once(std::string_view target, base::Nanos timeout);
  // Or until somebody is in a hurry. False when cancelled.
  rt::Task<bool> sleep(base::TimePoint until);
  base::TimePoint now() const { return network_.loop().now(); }

  net::Network& network_;
  std::shared_ptr<const Backend> backend_;
  ReplicaHealth& health_;
  pick::Columns& columns_;
  ScrapeListener& listener_;
  const ScrapeOptions& options_;
  std::string fields_;
  std::unique_ptr<net::ClientConnection> connection_;
  rt::WaitList wake_;
  bool hurried_ = false;
  bool answered_ = false;
  base::TimePoint models_due_{};
  base::TimePoint metrics_due_{};
  uint64_t metrics_hash_ = 0;
  std::optional<base::TimePoint> metrics_changed_;
  IntervalMean ttft_;
  IntervalMean tpot_;
};

}  // namespace fairlead::router
