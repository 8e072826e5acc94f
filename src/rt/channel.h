// Channel<T>: a bounded queue between tasks of one loop. A full channel suspends the sender, an
// empty one the receiver. close() lets receivers drain what is left and then see the end.
#pragma once

#include <deque>
#include <optional>

#include "rt/task.h"
#include "rt/waiter.h"

namespace fairlead::rt {

template <class T>
class Channel {
 public:
  explicit Channel(size_t capacity) : capacity_(capacity) {}

  // False if the channel is closed or the sender was cancelled; the item is then dropped.
  Task<bool> send(T item) {
    while (!closed_ && items_.size() >= capacity_) {
      if (co_await space_.wait() != WaitStatus::kReady) co_return false;
    }
    co_return try_send(std::move(item));
  }
  // False if closed or full.
  bool try_send(T item) {
    if (closed_ || items_.size() >= capacity_) return false;
    items_.push_back(std::move(item));
    items_waiting_.notify_one();
    return true;
  }
  // Nothing at the end, when cancelled, and at the deadline.
  Task<std::optional<T>> receive(base::TimePoint deadline = base::kNever) {
    while (items_.empty()) {
      if (closed_ || co_await items_waiting_.wait(deadline) != WaitStatus::kReady) {
        co_return std::nullopt;
      }
    }
    T item = std::move(items_.front());
    items_.pop_front();
    space_.notify_one();
    co_return std::optional<T>(std::move(item));
  }
  void close() {
    closed_ = true;
    items_waiting_.notify_all();
    space_.notify_all();
  }
  size_t size() const { return items_.size(); }
  bool closed() const { return closed_; }

 private:
  size_t capacity_;
  bool closed_ = false;
  std::deque<T> items_;
  WaitList items_waiting_;
  WaitList space_;
};

}  // namespace fairlead::rt
