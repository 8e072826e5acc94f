#include "router/retry_budget.h"

#include <algorithm>

namespace fairlead::router {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

int64_t whole_seconds(base::TimePoint now) {
  return std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
}

}  // namespace

RetryBudget::Second& RetryBudget::second(size_t shard, base::TimePoint now) {
  const int64_t at = whole_seconds(now);
  Second& second = shards_[shard].seconds[static_cast<size_t>(at % kWindowSeconds)];
  if (second.at.load(kRelaxed) != at) {
    second.requests.store(0, kRelaxed);
    second.retries.store(0, kRelaxed);
    second.at.store(at, kRelaxed);
  }
  return second;
}

double RetryBudget::left(base::TimePoint now) const {
  uint64_t requests = 0;
  uint64_t retries = 0;
  for (size_t shard = 0; shard < shards_.size(); ++shard) {
    for (const Second& second : shards_[shard].seconds) {
      if (second.at.load(kRelaxed) <= whole_seconds(now) - kWindowSeconds) continue;
      requests += second.requests.load(kRelaxed);
      retries += second.retries.load(kRelaxed);
    }
  }
  const double allowed = std::max(options_.share * static_cast<double>(requests),
                                  options_.floor_per_second * kWindowSeconds);
  return allowed - static_cast<double>(retries);
}

bool RetryBudget::take_retry(size_t shard, base::TimePoint now) {
  if (left(now) < 1) return false;
  add(second(shard, now).retries);
  return true;
}

}  // namespace fairlead::router
