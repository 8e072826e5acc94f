#include "kube/notification.h"

#include <utility>

#include "base/check.h"

namespace fairlead::kube {

void DeliveryQueue::push(Notification next) {
  std::string key = next.object->key();
  Waiting& waiting = by_key_[key];
  if (waiting.steps.empty()) {
    waiting.steps.push_back(steps_.insert(steps_.end(), std::move(next)));
    return;
  }
  Notification& last = *waiting.steps.back();
  if (last.change == Change::kDeleted) {
    SOFT_CHECK(next.change == Change::kAdded, "a deleted object can only be added");
    waiting.steps.push_back(steps_.insert(steps_.end(), std::move(next)));
    return;
  }
  SOFT_CHECK(next.change != Change::kAdded, "an object that is there cannot be added");
  if (next.change != Change::kDeleted) {
    last.object = std::move(next.object);
    return;
  }
  if (last.change == Change::kUpdated) {
    last = std::move(next);
    return;
  }
  // Added and deleted before the handler came to it: it never was.
  steps_.erase(waiting.steps.back());
  waiting.steps.pop_back();
  if (waiting.steps.empty()) by_key_.erase(key);
}

std::optional<Notification> DeliveryQueue::pop() {
  if (steps_.empty()) return std::nullopt;
  const auto found = by_key_.find(steps_.front().object->key());
  CHECK(found != by_key_.end(), "every step is found by its key");
  found->second.steps.erase(found->second.steps.begin());
  if (found->second.steps.empty()) by_key_.erase(found);
  Notification next = std::move(steps_.front());
  steps_.pop_front();
  return next;
}

}  // namespace fairlead::kube
