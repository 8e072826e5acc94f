#include "kube/informer.h"

#include <algorithm>
#include <utility>

namespace fairlead::kube {

using base::ErrorCode;

Informer::Informer(Client& client, Resource resource, InformerOptions options)
    : client_(client),
      resource_(std::move(resource)),
      options_(std::move(options)),
      random_(options_.seed == 0 ? base::random_seed() : options_.seed),
      backoff_(options_.backoff) {}

void Informer::add_handler(InformerHandler& handler) {
  Delivery& delivery = deliveries_.emplace_back(handler);
  for (const auto& [key, object] : store_.objects()) {
    delivery.queue.push({Change::kAdded, object});
  }
  if (running_ != nullptr) running_->spawn(deliver(delivery));
}

rt::Task<void> Informer::run() {
  rt::Scope& scope = co_await rt::current_scope();
  rt::TaskGroup group(scope);
  running_ = &group;
  for (Delivery& delivery : deliveries_) group.spawn(deliver(delivery));
  group.spawn(reflect());
  static_cast<void>(co_await group.join());
  running_ = nullptr;
}

rt::Task<void> Informer::reflect() {
  rt::Scope& scope = co_await rt::current_scope();
  while (!scope.cancelled()) {
    if (version_.empty()) {
      const bool listed = co_await list();
      show();
      if (listed) continue;
    } else {
      const Outcome outcome = co_await watch();
      show();
      if (outcome == Outcome::kGoOn) continue;
      if (outcome == Outcome::kExpired) {
        version_.clear();
        ++stats_.relists;
        // A server that forgets what it has just listed is not asked without a pause.
        if (++expired_in_a_row_ == 1) continue;
      }
    }
    base::Nanos wait = backoff_.next(random_);
    if (last_error_ && last_error_->retry_after()) {
      wait = std::max<base::Nanos>(wait, *last_error_->retry_after());
    }
    co_await rt::sleep_until(base::after(client_.loop().now(), wait));
  }
}

rt::Task<bool> Informer::list() {
  base::Result<ListPage> all = co_await client_.list_all(
      target(), {.selection = options_.selection, .limit = options_.page});
  if (all && all->resource_version.empty()) {
    all = base::Error(ErrorCode::kProtocol, "a list without resourceVersion");
  }
  if (!all) {
    ++stats_.lists_failed;
    last_error_ = all.error();
    co_return false;
  }
  ++stats_.lists;
  last_error_.reset();
  version_ = std::move(all->resource_version);
  store_.replace(std::move(all->items), changes_);
  listed_ = true;
  publish();
  co_return true;
}

Informer::Outcome Informer::failed(const base::Error& error) {
  last_error_ = error;
  if (error.code() == ErrorCode::kExpired) return Outcome::kExpired;
  ++stats_.watches_failed;
  return Outcome::kFailed;
}

rt::Task<Informer::Outcome> Informer::watch() {
  const base::Nanos spread(
      static_cast<int64_t>(random_.uniform() * static_cast<double>(options_.watch_min.count())));
  ++stats_.watches;
  show();
  const base::Result<std::unique_ptr<WatchStream>> stream =
      co_await client_.watch(target(), {.selection = options_.selection,
                                        .resource_version = version_,
                                        .timeout = options_.watch_min + spread});
  if (!stream) co_return failed(stream.error());
  co_return co_await follow(**stream);
}

rt::Task<Informer::Outcome> Informer::follow(WatchStream& stream) {
  const base::TimePoint begun = client_.loop().now();
  bool heard = false;
  while (true) {
    const base::TimePoint silent = base::after(client_.loop().now(), options_.silence_max);
    const base::Result<std::optional<WatchEvent>> event = co_await stream.next(silent);
    if (!event) {
      if (event.error().code() == ErrorCode::kDeadlineExceeded) {
        ++stats_.watches_silent;
        last_error_ = event.error().wrap("a silent watch");
        co_return Outcome::kGoOn;
      }
      co_return failed(event.error());
    }
    if (!*event) {
      // A server that ends each watch at once is not asked again at once.
      const bool early = !heard && client_.loop().now() - begun < std::chrono::seconds(1);
      co_return early ? Outcome::kFailed : Outcome::kGoOn;
    }
    heard = true;
    expired_in_a_row_ = 0;
    backoff_.reset();
    last_error_.reset();
    apply(**event);
  }
}

void Informer::apply(const WatchEvent& event) {
  switch (event.type) {
    case WatchEvent::Type::kBookmark:
      ++stats_.bookmarks;
      break;
    case WatchEvent::Type::kAdded:
    case WatchEvent::Type::kModified:
      ++stats_.events;
      store_.put(event.object, changes_);
      break;
    case WatchEvent::Type::kDeleted:
      ++stats_.events;
      store_.erase(event.object, changes_);
      break;
  }
  version_ = event.object->resource_version();
  publish();
}

void Informer::publish() {
  for (Delivery& delivery : deliveries_) {
    for (const Notification& change : changes_) delivery.queue.push(change);
    if (!changes_.empty()) delivery.arrived.notify_all();
    if (listed_ && !synced_ && delivery.untold_at_sync == 0) {
      delivery.untold_at_sync = delivery.queue.size();
    }
  }
  changes_.clear();
  check_synced();
  show();
}

void Informer::check_synced() {
  if (synced_ || !listed_) return;
  const bool told =
      std::ranges::all_of(deliveries_, [](const Delivery& d) { return d.untold_at_sync == 0; });
  if (!told) return;
  synced_ = true;
  synced_changed_.notify_all();
}

rt::Task<void> Informer::deliver(Delivery& delivery) {
  rt::Scope& scope = co_await rt::current_scope();
  while (!scope.cancelled()) {
    std::optional<Notification> next = delivery.queue.pop();
    if (!next) {
      co_await delivery.arrived.wait();
      continue;
    }
    co_await delivery.handler.handle(*next);
    if (delivery.untold_at_sync > 0) --delivery.untold_at_sync;
    if (delivery.queue.size() == 0) delivery.untold_at_sync = 0;
    check_synced();
    show();
  }
}

bool Informer::synced() const { return synced_; }

rt::Task<bool> Informer::wait_synced(base::TimePoint deadline) {
  while (!synced_) {
    const rt::WaitStatus waited = co_await synced_changed_.wait(deadline);
    if (waited != rt::WaitStatus::kReady) co_return synced_;
  }
  co_return true;
}

void Informer::show() {
  const InformerMetrics* metrics = options_.metrics;
  if (metrics == nullptr) return;
  const auto add = [](const obs::Counter& counter, uint64_t now, uint64_t& before) {
    if (now != before) counter.add(static_cast<double>(now - before));
    before = now;
  };
  add(metrics->lists, stats_.lists, shown_.lists);
  add(metrics->lists_failed, stats_.lists_failed, shown_.lists_failed);
  add(metrics->relists, stats_.relists, shown_.relists);
  add(metrics->watches, stats_.watches, shown_.watches);
  add(metrics->watches_failed, stats_.watches_failed, shown_.watches_failed);
  add(metrics->watches_silent, stats_.watches_silent, shown_.watches_silent);
  add(metrics->events, stats_.events, shown_.events);
  add(metrics->bookmarks, stats_.bookmarks, shown_.bookmarks);
  metrics->synced.set(synced_ ? 1 : 0);
  metrics->objects.set(static_cast<double>(store_.objects().size()));
  metrics->bytes.set(static_cast<double>(store_.text_bytes()));
  metrics->waiting.set(static_cast<double>(waiting_max()));
}

size_t Informer::waiting_max() const {
  size_t most = 0;
  for (const Delivery& delivery : deliveries_) most = std::max(most, delivery.queue.size());
  return most;
}

}  // namespace fairlead::kube
