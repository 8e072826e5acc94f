#include "rt/timer.h"

#include <algorithm>

namespace fairlead::rt {

void TimerNode::disarm() {
  if (heap_ != nullptr) heap_->remove(*this);
}

TimerHeap::~TimerHeap() {
  for (const Entry& entry : entries_) entry.node->heap_ = nullptr;
}

void TimerHeap::place(size_t index, const Entry& entry) {
  entries_[index] = entry;
  entry.node->index_ = static_cast<uint32_t>(index);
}

void TimerHeap::sift_up(size_t index) {
  const Entry entry = entries_[index];
  while (index > 0) {
    const size_t parent = (index - 1) / 4;
    if (!entry.before(entries_[parent])) break;
    place(index, entries_[parent]);
    index = parent;
  }
  place(index, entry);
}

void TimerHeap::sift_down(size_t index) {
  const Entry entry = entries_[index];
  for (;;) {
    const size_t first = index * 4 + 1;
    if (first >= entries_.size()) break;
    const size_t last = std::min(first + 4, entries_.size());
    size_t best = first;
    for (size_t child = first + 1; child < last; ++child) {
      if (entries_[child].before(entries_[best])) best = child;
    }
    if (!entries_[best].before(entry)) break;
    place(index, entries_[best]);
    index = best;
  }
  place(index, entry);
}

void TimerHeap::arm(TimerNode& node, base::TimePoint at) {
  if (node.heap_ != nullptr) remove(node);
  if (at == base::kNever) return;
  entries_.push_back({at, next_order_++, &node});
  node.heap_ = this;
  sift_up(entries_.size() - 1);
}

void TimerHeap::remove(TimerNode& node) {
  const size_t index = node.index_;
  node.heap_ = nullptr;
  const Entry last = entries_.back();
  entries_.pop_back();
  if (index == entries_.size()) return;
  place(index, last);
  if (index > 0 && last.before(entries_[(index - 1) / 4])) {
    sift_up(index);
  } else {
    sift_down(index);
  }
}

size_t TimerHeap::fire_until(base::TimePoint now) {
  size_t fired = 0;
  while (!entries_.empty() && entries_[0].at <= now) {
    TimerNode& node = *entries_[0].node;
    remove(node);
    node.on_timer();
    ++fired;
  }
  return fired;
}

}  // namespace fairlead::rt
