#include "kube/work_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace fairlead::kube {
namespace {

constexpr int kDoublingsMax = 40;

base::Nanos retry_delay(const QueueOptions& options, int failures_before) {
  base::Nanos delay = options.retry_first;
  for (int i = 0; i < std::min(failures_before, kDoublingsMax) && delay < options.retry_max; ++i) {
    delay *= 2;
  }
  return std::min(delay, options.retry_max);
}

}  // namespace

// ---- the core -----------------------------------------------------------------------------------

void QueueCore::append(const std::string& key, base::TimePoint now) {
  waiting_.push_back({key, now});
  ++stats_.adds;
}

void QueueCore::add(const std::string& key, base::TimePoint now) {
  if (!dirty_.insert(key).second) return;
  if (!in_work_.contains(key)) append(key, now);
}

void QueueCore::add_at(const std::string& key, base::TimePoint at, base::TimePoint now) {
  if (at <= now) {
    add(key, now);
    return;
  }
  const auto found = due_by_key_.find(key);
  if (found != due_by_key_.end()) {
    if (found->second.first <= at) return;
    due_.erase(found->second);
  }
  const DueKey due{at, order_++};
  due_.emplace(due, key);
  due_by_key_.insert_or_assign(key, due);
}

// The bucket's level, or how far it is overdrawn: each retry takes one, and waits until it is paid.
base::TimePoint QueueCore::next_token(base::TimePoint now) {
  const double earned = base::to_seconds(now - tokens_at_) * options_.retries_a_second;
  tokens_ = std::min(options_.retries_burst, tokens_ + earned) - 1;
  tokens_at_ = now;
  if (tokens_ >= 0) return now;
  return base::after(now, base::from_seconds(-tokens_ / options_.retries_a_second));
}

void QueueCore::add_rate_limited(const std::string& key, base::TimePoint now) {
  const base::TimePoint own = base::after(now, retry_delay(options_, failures_[key]++));
  ++stats_.retries;
  add_at(key, std::max(own, next_token(now)), now);
}

int QueueCore::failures(const std::string& key) const {
  const auto found = failures_.find(key);
  return found == failures_.end() ? 0 : found->second;
}

void QueueCore::move_due(base::TimePoint now) {
  while (!due_.empty() && due_.begin()->first.first <= now) {
    const std::string key = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    due_by_key_.erase(key);
    add(key, now);
  }
}

std::optional<QueueCore::Item> QueueCore::take(base::TimePoint now) {
  move_due(now);
  if (waiting_.empty()) return std::nullopt;
  Waiting first = std::move(waiting_.front());
  waiting_.pop_front();
  dirty_.erase(first.key);
  in_work_.insert(first.key);
  return Item{std::move(first.key), now - first.since};
}

void QueueCore::done(const std::string& key, base::TimePoint now) {
  in_work_.erase(key);
  if (dirty_.contains(key)) append(key, now);
}

// ---- on a loop ----------------------------------------------------------------------------------

void WorkQueue::changed() {
  if (metrics_ != nullptr) {
    const QueueStats& stats = core_.stats();
    metrics_->adds.add(static_cast<double>(stats.adds - counted_.adds));
    metrics_->retries.add(static_cast<double>(stats.retries - counted_.retries));
    metrics_->depth.set(static_cast<double>(core_.waiting()));
    counted_ = stats;
  }
  if (core_.waiting() > 0 || shut_down_) arrived_.notify_all();
  if (shut_down_ && core_.waiting() == 0 && core_.in_work() == 0) idle_.notify_all();
}

void WorkQueue::show_progress() const {
  if (metrics_ == nullptr) return;
  int64_t sum = 0;
  int64_t first = base::kNever.time_since_epoch().count();
  for (const auto& [key, at] : begun_) {
    const int64_t begun = at.time_since_epoch().count();
    sum += begun;
    first = std::min(first, begun);
  }
  metrics_->progress->begun_sum.store(sum);
  metrics_->progress->begun_first.store(first);
  metrics_->progress->keys.store(static_cast<int64_t>(begun_.size()));
}

void WorkQueue::add(const std::string& key) {
  if (shut_down_) return;
  core_.add(key, loop_.now());
  changed();
}

void WorkQueue::add_after(const std::string& key, base::Nanos delay) {
  if (shut_down_) return;
  core_.add_at(key, base::after(loop_.now(), delay), loop_.now());
  arrived_.notify_all();  // who waits waits until the earliest time
  changed();
}

void WorkQueue::add_rate_limited(const std::string& key) {
  if (shut_down_) return;
  core_.add_rate_limited(key, loop_.now());
  arrived_.notify_all();
  changed();
}

rt::Task<std::optional<std::string>> WorkQueue::get() {
  rt::Scope& scope = co_await rt::current_scope();
  while (!scope.cancelled()) {
    std::optional<QueueCore::Item> item = core_.take(loop_.now());
    if (item) {
      if (metrics_ != nullptr) metrics_->waited.observe(base::to_seconds(item->waited));
      begun_.insert_or_assign(item->key, loop_.now());
      show_progress();
      changed();
      co_return std::move(item->key);
    }
    if (shut_down_) break;
    co_await arrived_.wait(core_.next_due());
  }
  co_return std::nullopt;
}

void WorkQueue::done(const std::string& key) {
  const auto begun = begun_.find(key);
  CHECK(begun != begun_.end(), "done() is of a key that get() gave");
  if (metrics_ != nullptr) {
    metrics_->worked.observe(base::to_seconds(loop_.now() - begun->second));
  }
  begun_.erase(begun);
  show_progress();
  core_.done(key, loop_.now());
  changed();
}

void WorkQueue::shut_down() {
  shut_down_ = true;
  core_.drop_delayed();
  changed();
}

rt::Task<bool> WorkQueue::drained(base::TimePoint deadline) {
  while (!shut_down_ || core_.waiting() > 0 || core_.in_work() > 0) {
    const rt::WaitStatus waited = co_await idle_.wait(deadline);
    if (waited != rt::WaitStatus::kReady) co_return false;
  }
  co_return true;
}

}  // namespace fairlead::kube
