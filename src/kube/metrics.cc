#include "kube/metrics.h"

#include <algorithm>
#include <array>
#include <functional>

namespace fairlead::kube {
namespace {

// The bounds that dashboards for client-go were made for.
constexpr std::array kQueueSeconds = {1e-8, 1e-7, 1e-6, 1e-5, 1e-4,  1e-3,
                                      1e-2, 1e-1, 1.0,  10.0, 100.0, 1000.0};
constexpr std::array kRequestSeconds = {0.005, 0.025, 0.1, 0.25, 0.5,  1.0,
                                        2.0,   4.0,   8.0, 15.0, 30.0, 60.0};

}  // namespace

void ClientMetrics::answered(std::string_view method, std::string_view code,
                             base::Nanos took) const {
  requests_->counter(shard_, {code, method, host_}).add();
  took_->histogram(shard_, {method, host_}).observe(base::to_seconds(took));
}

void ClientMetrics::repeated(std::string_view method, std::string_view code) const {
  retries_->counter(shard_, {code, method, host_}).add();
}

Metrics::Metrics(obs::Registry& registry, const base::Clock& clock)
    : clock_(clock),
      requests_(
          registry.counter("rest_client_requests_total",
                           "Requests to the API server, by the status of the answer if one came.",
                           {"code", "method", "host"})),
      took_(registry.histogram("rest_client_request_duration_seconds",
                               "From a request to the end of its answer; of a watch, to its head.",
                               kRequestSeconds, {"verb", "host"})),
      repeats_(registry.counter("rest_client_request_retries_total",
                                "Requests that were sent again after such an answer.",
                                {"code", "verb", "host"})),
      lists_(registry.counter("reflector_lists_total", "Whole lists that informers have made.",
                              {"name"})),
      watches_(registry.counter("reflector_watches_total", "Watches that informers have begun.",
                                {"name"})),
      lists_failed_(registry.counter("fairlead_informer_lists_failed_total",
                                     "Lists that ended in an error.", {"name"})),
      relists_(registry.counter("fairlead_informer_relists_total",
                                "Lists after the first, because a version was gone.", {"name"})),
      watches_failed_(registry.counter("fairlead_informer_watches_failed_total",
                                       "Watches that did not end in order.", {"name"})),
      watches_silent_(registry.counter("fairlead_informer_watches_silent_total",
                                       "Watches given up because nothing came.", {"name"})),
      watch_events_(registry.counter("fairlead_informer_events_total",
                                     "Changes that watches have told.", {"name"})),
      bookmarks_(registry.counter("fairlead_informer_bookmarks_total",
                                  "Bookmarks that watches have told.", {"name"})),
      synced_(registry.gauge("fairlead_informer_synced",
                             "1 once handlers have been told of the whole first list.", {"name"})),
      objects_(registry.gauge("fairlead_informer_objects", "Objects in the cache.", {"name"})),
      bytes_(registry.gauge("fairlead_informer_bytes", "What the cache's objects take as text.",
                            {"name"})),
      waiting_(registry.gauge("fairlead_informer_waiting",
                              "Steps that wait for the slowest handler.", {"name"})),
      adds_(registry.counter("workqueue_adds_total", "Keys that came to wait.", {"name"})),
      retries_(registry.counter("workqueue_retries_total",
                                "Keys that were added again after a failure.", {"name"})),
      depth_(registry.gauge("workqueue_depth", "Keys that wait for a worker.", {"name"})),
      waited_(registry.histogram("workqueue_queue_duration_seconds",
                                 "From when a key came to wait to its worker.", kQueueSeconds,
                                 {"name"})),
      worked_(registry.histogram("workqueue_work_duration_seconds", "How long a worker had a key.",
                                 kQueueSeconds, {"name"})),
      events_(registry.counter("fairlead_kube_events_total",
                               "Reports as Events: written, failed, or dropped because the subject "
                               "reports too much or the queue was full.",
                               {"result"})),
      events_waiting_(registry.gauge("fairlead_kube_events_waiting", "Reports not yet written.")),
      leads_(registry.gauge("leader_election_master_status",
                            "1 while this process leads by that lease.", {"name"})) {
  add_progress(registry);
}

void Metrics::add_progress(obs::Registry& registry) {
  using Read = std::function<int64_t(const WorkInProgress&, int64_t now)>;
  const auto each = [this](double parts, const Read& read) {
    return [this, parts, read](obs::Samples& samples) {
      const int64_t now = clock_.now().time_since_epoch().count();
      const std::lock_guard lock(mutex_);
      for (const Queue& queue : queues_) {
        const bool idle = queue.progress->keys.load() == 0;
        const int64_t value = idle ? 0 : std::max<int64_t>(read(*queue.progress, now), 0);
        samples.add({queue.name}, static_cast<double>(value) / parts);
      }
    };
  };
  registry.callback(obs::MetricType::kGauge, "workqueue_unfinished_work_seconds",
                    "How long workers have had their keys, all together.", {"name"},
                    each(1e9, [](const WorkInProgress& work, int64_t now) {
                      return work.keys.load() * now - work.begun_sum.load();
                    }));
  registry.callback(obs::MetricType::kGauge, "workqueue_longest_running_processor_seconds",
                    "How long the slowest worker has had its key.", {"name"},
                    each(1e9, [](const WorkInProgress& work, int64_t now) {
                      return now - work.begun_first.load();
                    }));
  registry.callback(obs::MetricType::kGauge, "fairlead_workqueue_in_work",
                    "Keys that workers have.", {"name"},
                    each(1, [](const WorkInProgress& work, int64_t) { return work.keys.load(); }));
}

ClientMetrics Metrics::client(size_t shard, std::string_view host) {
  ClientMetrics handles;
  handles.requests_ = &requests_;
  handles.took_ = &took_;
  handles.retries_ = &repeats_;
  handles.shard_ = shard;
  handles.host_ = host;
  return handles;
}

InformerMetrics Metrics::informer(size_t shard, std::string_view resource) {
  return {.lists = lists_.counter(shard, {resource}),
          .lists_failed = lists_failed_.counter(shard, {resource}),
          .relists = relists_.counter(shard, {resource}),
          .watches = watches_.counter(shard, {resource}),
          .watches_failed = watches_failed_.counter(shard, {resource}),
          .watches_silent = watches_silent_.counter(shard, {resource}),
          .events = watch_events_.counter(shard, {resource}),
          .bookmarks = bookmarks_.counter(shard, {resource}),
          .synced = synced_.gauge(shard, {resource}),
          .objects = objects_.gauge(shard, {resource}),
          .bytes = bytes_.gauge(shard, {resource}),
          .waiting = waiting_.gauge(shard, {resource})};
}

QueueMetrics Metrics::queue(size_t shard, std::string_view name) {
  auto progress = std::make_shared<WorkInProgress>();
  {
    const std::lock_guard lock(mutex_);
    queues_.push_back({std::string(name), progress});
  }
  return {.adds = adds_.counter(shard, {name}),
          .retries = retries_.counter(shard, {name}),
          .depth = depth_.gauge(shard, {name}),
          .waited = waited_.histogram(shard, {name}),
          .worked = worked_.histogram(shard, {name}),
          .progress = std::move(progress)};
}

EventMetrics Metrics::events(size_t shard) {
  return {.written = events_.counter(shard, {"written"}),
          .dropped = events_.counter(shard, {"dropped"}),
          .failed = events_.counter(shard, {"failed"}),
          .waiting = events_waiting_.gauge(shard)};
}

obs::Gauge Metrics::leads(size_t shard, std::string_view lease) {
  return leads_.gauge(shard, {lease});
}

}  // namespace fairlead::kube
