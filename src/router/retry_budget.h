// How many retries a router may make: a share of the requests of the last ten seconds, but at least
// a fixed number a second, so that a quiet router may still retry and a broken fleet is not hit
// twice as hard. Pure; one a shard, with its share of the floor.
//
//   RetryBudget budget({.floor_per_second = 10.0 / shards});
//   budget.note_request(now);
//   if (attempts <= RetryBudget::kRetriesMax && budget.take_retry(now)) ...
//
// Rejected: a token bucket (remembers credit from a busy hour long after it is over), a limit a
// request alone (three times the load just when replicas fail).
#pragma once

#include <array>
#include <cstdint>

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

  explicit RetryBudget(RetryBudgetOptions options) : options_(options) {}

  void note_request(base::TimePoint now) { ++second(now).requests; }
  // True if one more retry is within the budget; it is then taken.
  bool take_retry(base::TimePoint now);
  // How many could be taken now; for a metric.
  double left(base::TimePoint now) const;

 private:
  struct Second {
    int64_t at = -kWindowSeconds;
    uint64_t requests = 0;
    uint64_t retries = 0;
  };
  Second& second(base::TimePoint now);

  RetryBudgetOptions options_;
  std::array<Second, kWindowSeconds> seconds_;
};

}  // namespace fairlead::router
