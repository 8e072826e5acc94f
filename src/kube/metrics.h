// The metrics of clients, informers, work queues, elections and events: all names in one place, as
// users of client-go and controller-runtime know them where those have one. One registry a process;
// the handles are of the shard whose loop uses them. docs/kube-metrics.md is made from them.
//
//   Metrics metrics(registry, clock);
//   const QueueMetrics of_queue = metrics.queue(shard, "modelserving");
//   WorkQueue queue(loop, {}, &of_queue);
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "obs/metrics.h"

namespace fairlead::kube {

// Of requests to one server. Any method of the API, "<error>" where no answer came.
class ClientMetrics {
 public:
  void answered(std::string_view method, std::string_view code, base::Nanos took) const;
  void repeated(std::string_view method, std::string_view code) const;

 private:
  friend class Metrics;
  obs::Family* requests_ = nullptr;
  obs::Family* took_ = nullptr;
  obs::Family* retries_ = nullptr;
  size_t shard_ = 0;
  std::string host_;
};

struct InformerMetrics {
  obs::Counter lists;
  obs::Counter lists_failed;
  obs::Counter relists;
  obs::Counter watches;
  obs::Counter watches_failed;
  obs::Counter watches_silent;
  obs::Counter events;
  obs::Counter bookmarks;
  obs::Gauge synced;
  obs::Gauge objects;
  obs::Gauge bytes;
  obs::Gauge waiting;
};

// The keys that workers have: written by the queue's loop, read at a scrape.
struct WorkInProgress {
  std::atomic<int64_t> keys{0};
  std::atomic<int64_t> begun_sum{0};  // of nanoseconds of the clock
  std::atomic<int64_t> begun_first{0};
};

struct QueueMetrics {
  obs::Counter adds;
  obs::Counter retries;
  obs::Gauge depth;
  obs::Histogram waited;
  obs::Histogram worked;
  std::shared_ptr<WorkInProgress> progress;
};

struct EventMetrics {
  obs::Counter written;
  obs::Counter dropped;
  obs::Counter failed;
  obs::Gauge waiting;
};

class Metrics {
 public:
  // Both outlive what is made of them. The clock is that of the loops, and read by whoever scrapes.
  Metrics(obs::Registry& registry, const base::Clock& clock);

  ClientMetrics client(size_t shard, std::string_view host);
  InformerMetrics informer(size_t shard, std::string_view resource);
  QueueMetrics queue(size_t shard, std::string_view name);
  EventMetrics events(size_t shard);
  // 1 while this process leads.
  obs::Gauge leads(size_t shard, std::string_view lease);

 private:
  struct Queue {
    std::string name;
    std::shared_ptr<WorkInProgress> progress;
  };
  void add_progress(obs::Registry& registry);

  const base::Clock& clock_;
  obs::Family& requests_;
  obs::Family& took_;
  obs::Family& repeats_;
  obs::Family& lists_;
  obs::Family& watches_;
  obs::Family& lists_failed_;
  obs::Family& relists_;
  obs::Family& watches_failed_;
  obs::Family& watches_silent_;
  obs::Family& watch_events_;
  obs::Family& bookmarks_;
  obs::Family& synced_;
  obs::Family& objects_;
  obs::Family& bytes_;
  obs::Family& waiting_;
  obs::Family& adds_;
  obs::Family& retries_;
  obs::Family& depth_;
  obs::Family& waited_;
  obs::Family& worked_;
  obs::Family& events_;
  obs::Family& events_waiting_;
  obs::Family& leads_;
  std::mutex mutex_;
  std::deque<Queue> queues_;
};

}  // namespace fairlead::kube
