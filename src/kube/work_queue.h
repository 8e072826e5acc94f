// Work queues: keys that someone must look at, each by one worker at a time.
//
//   WorkQueue queue(loop, {.name = "modelserving"});
//   queue.add(key);                                   // from a handler of an informer
//   while (auto item = co_await queue.get()) {        // in each of the workers
//     const bool done = co_await reconcile(*item);
//     done ? queue.forget(*item) : queue.add_rate_limited(*item);
//     queue.done(*item);
//   }
//
// A key that waits is there once, however often it was added; one added while it is worked on waits
// until that is done. A key that failed comes back after an exponential delay of its own, but all
// that come back share one rate. Nothing is ever given up.
//
// QueueCore is pure: time is an argument. WorkQueue is it on a loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "kube/metrics.h"
#include "rt/loop.h"
#include "rt/waiter.h"

namespace fairlead::kube {

struct QueueOptions {
  std::string name{};  // in metrics
  // Of one key: after its n-th failure in a row it waits first * 2^(n-1), at most max.
  base::Nanos retry_first = std::chrono::milliseconds(5);
  base::Nanos retry_max = std::chrono::seconds(300);
  // Of all keys that come back: a token bucket.
  double retries_a_second = 50;
  double retries_burst = 500;
};

struct QueueStats {
  uint64_t adds = 0;     // that made a key wait
  uint64_t retries = 0;  // add_rate_limited
};

class QueueCore {
 public:
  explicit QueueCore(QueueOptions options)
      : options_(std::move(options)), tokens_(options_.retries_burst) {}

  void add(const std::string& key, base::TimePoint now);
  // At `at`; an earlier time of the same key stays.
  void add_at(const std::string& key, base::TimePoint at, base::TimePoint now);
  void add_rate_limited(const std::string& key, base::TimePoint now);
  // Its next failure is the first one again.
  void forget(const std::string& key) { failures_.erase(key); }
  int failures(const std::string& key) const;

  struct Item {
    std::string key;
    base::Nanos waited{};  // since it was added
  };
  // The key that waits longest; it is then worked on until done().
  std::optional<Item> take(base::TimePoint now);
  void done(const std::string& key, base::TimePoint now);

  void drop_delayed() {
    due_.clear();
    due_by_key_.clear();
  }
  // When a delayed key is due; kNever if there is none.
  base::TimePoint next_due() const {
    return due_.empty() ? base::kNever : due_.begin()->first.first;
  }
  size_t waiting() const { return waiting_.size(); }
  size_t delayed() const { return due_.size(); }
  size_t in_work() const { return in_work_.size(); }
  const QueueStats& stats() const { return stats_; }

 private:
  void move_due(base::TimePoint now);
  base::TimePoint next_token(base::TimePoint now);
  void append(const std::string& key, base::TimePoint now);

  struct Waiting {
    std::string key;
    base::TimePoint since;
  };
  // By time, then in the order in which they were added.
  using DueKey = std::pair<base::TimePoint, uint64_t>;

  QueueOptions options_;
  std::deque<Waiting> waiting_;
  std::set<std::string> dirty_;  // waits, or is to wait again after done()
  std::set<std::string> in_work_;
  std::map<DueKey, std::string> due_;
  std::unordered_map<std::string, DueKey> due_by_key_;
  std::unordered_map<std::string, int> failures_;
  double tokens_;
  base::TimePoint tokens_at_{};
  uint64_t order_ = 0;
  QueueStats stats_;
};

class WorkQueue {
 public:
  // `metrics` outlives the queue; nullptr: none.
  WorkQueue(rt::Loop& loop, QueueOptions options, const QueueMetrics* metrics = nullptr)
      : loop_(loop), core_(std::move(options)), metrics_(metrics) {}

  void add(const std::string& key);
  void add_after(const std::string& key, base::Nanos delay);
  void add_rate_limited(const std::string& key);
  void forget(const std::string& key) { core_.forget(key); }
  int failures(const std::string& key) const { return core_.failures(key); }

  // The next key, as soon as there is one. Nothing once the queue is shut down and empty, or when
  // cancelled.
  rt::Task<std::optional<std::string>> get();
  void done(const std::string& key);

  // What waits now is still given out; what is delayed is not.
  void shut_down();
  // Shut down, nothing waits and nothing is worked on. False at the deadline.
  rt::Task<bool> drained(base::TimePoint deadline);

  const QueueCore& core() const { return core_; }

 private:
  void changed();
  void show_progress() const;

  rt::Loop& loop_;
  QueueCore core_;
  const QueueMetrics* metrics_;
  std::unordered_map<std::string, base::TimePoint> begun_;
  QueueStats counted_;
  bool shut_down_ = false;
  rt::WaitList arrived_;
  rt::WaitList idle_;
};

}  // namespace fairlead::kube
