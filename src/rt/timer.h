// Timers of one loop: an intrusive 4-ary heap. A node lives in its owner and leaves the heap when
// it is destroyed. Equal times fire in the order they were armed, so virtual time is deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace fairlead::rt {

class TimerHeap;

class TimerNode {
 public:
  TimerNode() = default;
  TimerNode(const TimerNode&) = delete;
  TimerNode& operator=(const TimerNode&) = delete;
  virtual ~TimerNode() { disarm(); }

  bool armed() const { return heap_ != nullptr; }
  void disarm();

 protected:
  // Called on the loop once `at` has come; the node is already out of the heap.
  virtual void on_timer() = 0;

 private:
  friend class TimerHeap;
  TimerHeap* heap_ = nullptr;
  uint32_t index_ = 0;
};

class TimerHeap {
 public:
  ~TimerHeap();
  // Arms or re-arms `node`; base::kNever disarms it.
  void arm(TimerNode& node, base::TimePoint at);
  bool empty() const { return entries_.empty(); }
  // kNever when empty.
  base::TimePoint next() const { return entries_.empty() ? base::kNever : entries_[0].at; }
  // Fires all that are due; returns how many.
  size_t fire_until(base::TimePoint now);

 private:
  friend class TimerNode;
  struct Entry {
    base::TimePoint at;
    uint64_t order;
    TimerNode* node;
    bool before(const Entry& other) const {
      return at != other.at ? at < other.at : order < other.order;
    }
  };
  void remove(TimerNode& node);
  void sift_up(size_t index);
  void sift_down(size_t index);
  void place(size_t index, const Entry& entry);

  std::vector<Entry> entries_;
  uint64_t next_order_ = 0;
};

}  // namespace fairlead::rt
