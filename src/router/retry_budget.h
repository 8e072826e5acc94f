// How many retries a router may make: a share of the requests of the last ten seconds, but at least
// a fixed number a second, so that a quiet router may still retry and a broken fleet is not hit
// twice as hard. Pure.
//
// One for all shards: clients keep their connections, so one shard may have most of the requests
// for a while, and the requests of a stopped replica come back on all of them. Each shard counts
// in memory of its own; only a retry, which is rare, adds up what all have counted. Two shards that
// take the last one at the same moment may take one too many.
//
//   RetryBudget budget({}, shards);
//   budget.note_request(shard, now);
//   if (attempts <= RetryBudget::kRetriesMax && budget.take_retry(shard, now)) ...
//
// Rejected: a token bucket (remembers credit from a busy hour long after it is over), a limit a
// request alone (three times the load just when replicas fail).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/cache_line.h"
#include "base/clock.h"

namespace fairlead::router {

struct RetryBudgetOptions {
  double share = 0.2;
  double floor_per_second = 10;
};

class RetryBudget {
 public:
  static constexpr uint32_t kRetriesMax = 2;  // of one request
  static constexpr int64_t kWindowSeconds = 10;

  RetryBudget(RetryBudgetOptions options, size_t shards) : options_(options), shards_(shards) {}

  // On the shard's thread.
  void note_request(size_t shard, base::TimePoint now) { add(second(shard, now).requests); }
  // True if one more retry is within the budget; it is then taken.
  bool take_retry(size_t shard, base::TimePoint now);
  // Any thread: how many could be taken now; below zero where requests have left the window.
  double left(base::TimePoint now) const;

 private:
  struct Second {
    std::atomic<int64_t> at{-kWindowSeconds};
    std::atomic<uint64_t> requests{0};
    std::atomic<uint64_t> retries{0};
  };
  struct alignas(base::kCacheLine) OfAShard {
    std::array<Second, kWindowSeconds> seconds;
  };
  static void add(std::atomic<uint64_t>& count) {
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  Second& second(size_t shard, base::TimePoint now);

  RetryBudgetOptions options_;
  base::LineArray<OfAShard> shards_;
};

}  // namespace fairlead::router
