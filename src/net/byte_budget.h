// ByteBudget: a bound on bytes held by many connections together, across loops.
//
// A loop keeps some of what it gave back (at most two steps, an eighth of the limit for all loops
// together), so that loops do not write one counter for every request. Those bytes are free, but
// only to that loop.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/bytes.h"
#include "base/cache_line.h"

namespace fairlead::net {

class ByteBudget {
 public:
  ByteBudget(base::Bytes limit, size_t loops)
      : limit_(limit.count),
        step_(std::min<uint64_t>(kStepMax, limit.count / 16 / loops)),
        loops_(loops) {}

  // On the loop's thread: takes all of `bytes` or nothing.
  bool try_take(size_t loop, uint64_t bytes) {
    std::atomic<uint64_t>& spare = loops_[loop].spare;
    const uint64_t kept = spare.load(kRelaxed);
    if (bytes <= kept) {
      spare.store(kept - bytes, kRelaxed);
    } else if (take(bytes - kept + step_)) {
      spare.store(step_, kRelaxed);
    } else if (take(bytes - kept)) {
      spare.store(0, kRelaxed);
    } else {
      return false;
    }
    return true;
  }
  // Whether try_take() would have succeeded now.
  bool has_room(size_t loop, uint64_t bytes) const {
    const uint64_t kept = loops_[loop].spare.load(kRelaxed);
    return bytes <= kept || bytes - kept <= limit_ - taken_.load(kRelaxed);
  }
  void give_back(size_t loop, uint64_t bytes) {
    std::atomic<uint64_t>& spare = loops_[loop].spare;
    const uint64_t kept = spare.load(kRelaxed) + bytes;
    const uint64_t back = kept > 2 * step_ ? kept - step_ : 0;
    spare.store(kept - back, kRelaxed);
    if (back > 0) taken_.fetch_sub(back, kRelaxed);
  }

  // Any thread; approximate while loops take and give back.
  uint64_t used() const {
    uint64_t spare = 0;
    for (size_t loop = 0; loop < loops_.size(); ++loop) spare += loops_[loop].spare.load(kRelaxed);
    const uint64_t taken = taken_.load(kRelaxed);
    return taken - std::min(taken, spare);
  }
  uint64_t limit() const { return limit_; }

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  static constexpr uint64_t kStepMax = 256 * 1024;
  struct alignas(base::kCacheLine) OfALoop {
    std::atomic<uint64_t> spare{0};
  };

  bool take(uint64_t bytes) {
    uint64_t taken = taken_.load(kRelaxed);
    do {
      if (bytes > limit_ - taken) return false;
    } while (!taken_.compare_exchange_weak(taken, taken + bytes, kRelaxed));
    return true;
  }

  const uint64_t limit_;
  const uint64_t step_;
  base::LineArray<OfALoop> loops_;
  alignas(base::kCacheLine) std::atomic<uint64_t> taken_{0};
};

}  // namespace fairlead::net
