#include "kube/metrics.h"

#include <array>

namespace fairlead::kube {
namespace {

constexpr std::array kSeconds = {0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0};

}  // namespace

Metrics::Metrics(obs::Registry& registry)
    : adds_(
          registry.counter("fairlead_workqueue_adds_total", "Keys that came to wait.", {"queue"})),
      retries_(registry.counter("fairlead_workqueue_retries_total",
                                "Keys that were added again after a failure.", {"queue"})),
      depth_(registry.gauge("fairlead_workqueue_depth", "Keys that wait for a worker.", {"queue"})),
      in_work_(registry.gauge("fairlead_workqueue_in_work", "Keys that a worker has.", {"queue"})),
      waited_(registry.histogram("fairlead_workqueue_wait_seconds",
                                 "From when a key came to wait to its worker.", kSeconds,
                                 {"queue"})),
      worked_(registry.histogram("fairlead_workqueue_work_seconds", "How long a worker had a key.",
                                 kSeconds, {"queue"})) {}

QueueMetrics Metrics::queue(size_t shard, std::string_view name) {
  return {.adds = adds_.counter(shard, {name}),
          .retries = retries_.counter(shard, {name}),
          .depth = depth_.gauge(shard, {name}),
          .in_work = in_work_.gauge(shard, {name}),
          .waited = waited_.histogram(shard, {name}),
          .worked = worked_.histogram(shard, {name})};
}

}  // namespace fairlead::kube
