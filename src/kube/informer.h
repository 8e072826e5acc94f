// Informer: a copy of what the API server has of one resource, kept current, and those who are told
// of its changes. One loop.
//
//   Informer pods(client, kPods, {.space = "default"});
//   pods.add_index("app", label_index("app"));
//   pods.add_handler(handler);
//   group.spawn(pods.run());                       // until its scope is cancelled
//   co_await pods.wait_synced(deadline);
//   pods.store().find("default/web-0");
//
// It lists once, page by page, then watches from that resourceVersion. A watch that ends, breaks or
// falls silent is taken up where it was, after a jittered back-off if it failed; only an answer
// that the version is gone (410, also as an event) makes it list again, and then what was deleted
// meanwhile is found by comparing. resourceVersions are opaque: compared for equality alone.
//
// Lists are consistent reads (no resourceVersion=0), so the copy never goes back in time. Handlers
// run one task each and never hold up the watch: see notification.h for what waits.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "kube/backoff.h"
#include "kube/client.h"
#include "kube/notification.h"
#include "kube/store.h"
#include "rt/task_group.h"

namespace fairlead::kube {

class InformerHandler {
 public:
  // One at a time. The store may be ahead of what is told.
  virtual rt::Task<void> handle(const Notification& notification) = 0;

 protected:
  ~InformerHandler() = default;
};

struct InformerOptions {
  std::string space{};  // empty: all namespaces
  Selection selection{};
  uint32_t page = 500;
  BackoffOptions backoff{};
  // A server sends bookmarks about every minute: without a byte for this long, the connection is
  // taken for dead.
  base::Nanos silence_max = std::chrono::seconds(150);
  // How long the server is asked to go on; up to twice as long, drawn anew each time, so that
  // watches that began together do not end together.
  base::Nanos watch_min = std::chrono::minutes(5);
  uint64_t seed = 0;                         // 0: from the operating system
  const InformerMetrics* metrics = nullptr;  // outlives the informer
};

struct InformerStats {
  uint64_t lists = 0;  // whole ones
  uint64_t lists_failed = 0;
  uint64_t relists = 0;  // because a version was gone
  uint64_t watches = 0;
  uint64_t watches_failed = 0;  // not ended in order
  uint64_t watches_silent = 0;  // given up
  uint64_t events = 0;
  uint64_t bookmarks = 0;
};

class Informer {
 public:
  // `client` outlives the informer.
  Informer(Client& client, Resource resource, InformerOptions options);

  // Before run().
  void add_index(std::string name, IndexFunction function) {
    store_.add_index(std::move(name), std::move(function));
  }
  // At any time: what is there already is told as added. `handler` outlives the informer.
  void add_handler(InformerHandler& handler);

  rt::Task<void> run();

  // The first list is in the store and every handler has been told of it.
  bool synced() const;
  // False at the deadline and when cancelled.
  rt::Task<bool> wait_synced(base::TimePoint deadline);

  const Store& store() const { return store_; }
  const InformerStats& stats() const { return stats_; }
  const Resource& resource() const { return resource_; }
  // The error that the last list or watch ended with, if it did.
  const std::optional<base::Error>& last_error() const { return last_error_; }
  // Steps that wait for the slowest handler.
  size_t waiting_max() const;

 private:
  struct Delivery {
    explicit Delivery(InformerHandler& h) : handler(h) {}
    InformerHandler& handler;
    DeliveryQueue queue;
    rt::WaitList arrived;
    size_t untold_at_sync = 0;  // steps of the first list that are still to be told
  };

  rt::Task<void> reflect();
  rt::Task<bool> list();
  // What the next watch is to do.
  enum class Outcome : uint8_t { kGoOn, kFailed, kExpired };
  rt::Task<Outcome> watch();
  Outcome failed(const base::Error& error);
  rt::Task<Outcome> follow(WatchStream& stream);
  void apply(const WatchEvent& event);
  rt::Task<void> deliver(Delivery& delivery);
  void publish();
  void check_synced();
  void show();  // in the metrics
  Target target() const { return {resource_, options_.space}; }

  Client& client_;
  Resource resource_;
  InformerOptions options_;
  base::Random random_;
  Backoff backoff_;
  Store store_;
  std::string version_;  // to watch from; empty: list first
  std::optional<base::Error> last_error_;
  InformerStats stats_;
  InformerStats shown_;
  int expired_in_a_row_ = 0;
  bool listed_ = false;
  bool synced_ = false;
  std::vector<Notification> changes_;
  std::list<Delivery> deliveries_;
  rt::WaitList synced_changed_;
  rt::TaskGroup* running_ = nullptr;
};

}  // namespace fairlead::kube
