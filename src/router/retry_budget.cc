#include "router/retry_budget.h"

#include <algorithm>

namespace fairlead::router {
namespace {

int64_t whole_seconds(base::TimePoint now) {
  return std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
}

}  // namespace

RetryBudget::Second& RetryBudget::second(base::TimePoint now) {
  const int64_t at = whole_seconds(now);
  Second& second = seconds_[static_cast<size_t>(at % kWindowSeconds)];
  if (second.at != at) second = {.at = at};
  return second;
}

double RetryBudget::left(base::TimePoint now) const {
  uint64_t requests = 0;
  uint64_t retries = 0;
  for (const Second& second : seconds_) {
    if (second.at <= whole_seconds(now) - kWindowSeconds) continue;
    requests += second.requests;
    retries += second.retries;
  }
  const double allowed = std::max(options_.share * static_cast<double>(requests),
                                  options_.floor_per_second * kWindowSeconds);
  return allowed - static_cast<double>(retries);
}

bool RetryBudget::take_retry(base::TimePoint now) {
  if (left(now) < 1) return false;
  ++second(now).retries;
  return true;
}

}  // namespace fairlead::router
