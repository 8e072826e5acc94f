// ByteBudget: a bound on bytes held by many connections together, across loops. Thread safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/bytes.h"

namespace fairlead::net {

class ByteBudget {
 public:
  explicit ByteBudget(base::Bytes limit) : limit_(limit.count) {}
  // Takes all of `bytes` or nothing.
  bool try_take(uint64_t bytes) {
    uint64_t used = used_.load(std::memory_order_relaxed);
    do {
      if (bytes > limit_ - used) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  // Whether try_take() would have succeeded now.
  bool has_room(uint64_t bytes) const { return bytes <= limit_ - used(); }
  void give_back(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t limit() const { return limit_; }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> used_{0};
};

}  // namespace fairlead::net
