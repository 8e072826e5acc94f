#include "router/interval_mean.h"

#include <algorithm>
#include <cmath>

namespace fairlead::router {
namespace {

constexpr double kSecondsMax = 86'400;

bool sensible(const std::optional<double>& value) {
  return value && std::isfinite(*value) && *value >= 0;
}

}  // namespace

base::Nanos IntervalMean::update(std::optional<double> seconds, std::optional<double> count,
                                 base::TimePoint now) {
  if (!sensible(seconds) || !sensible(count)) {
    last_.reset();
    mean_ = base::Nanos(0);
    return mean_;
  }
  const Totals totals{.seconds = *seconds, .count = *count};
  const Totals before = last_.value_or(totals);
  last_ = totals;
  const bool restarted = totals.count < before.count || totals.seconds < before.seconds;
  const Totals fresh = restarted ? totals
                                 : Totals{.seconds = totals.seconds - before.seconds,
                                          .count = totals.count - before.count};
  if (fresh.count > 0) {
    const double mean = std::min(fresh.seconds / fresh.count, kSecondsMax);
    mean_ = base::Nanos(static_cast<int64_t>(mean * 1e9));
    measured_at_ = now;
  } else if (restarted || now - measured_at_ >= age_max_) {
    mean_ = base::Nanos(0);
  }
  return mean_;
}

}  // namespace fairlead::router
