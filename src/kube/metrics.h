// The metrics of work queues and informers, by name. One registry a process; the handles are of the
// shard whose loop runs the controllers.
#pragma once

#include "kube/work_queue.h"
#include "obs/metrics.h"

namespace fairlead::kube {

class Metrics {
 public:
  explicit Metrics(obs::Registry& registry);
  QueueMetrics queue(size_t shard, std::string_view name);

 private:
  obs::Family& adds_;
  obs::Family& retries_;
  obs::Family& depth_;
  obs::Family& in_work_;
  obs::Family& waited_;
  obs::Family& worked_;
};

}  // namespace fairlead::kube
