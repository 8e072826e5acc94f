#include "workload/arrivals.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace fairlead::workload {

base::Result<> validate(const ArrivalOptions& o) {
  if (!(o.per_second > 0)) {
    return base::invalid_argument(fmt::format("rate is {}: must be above 0", o.per_second));
  }
  if (!(o.burst_ratio >= 1)) {
    return base::invalid_argument(fmt::format("burst-ratio is {}: at least 1", o.burst_ratio));
  }
  if (!(o.burst_share > 0 && o.burst_share < 1)) {
    return base::invalid_argument(
        fmt::format("burst-share is {}: must be between 0 and 1, both excluded", o.burst_share));
  }
  if (o.burst_length <= base::Nanos(0)) {
    return base::invalid_argument("burst-length must be above 0");
  }
  if (!(o.speedup > 0)) {
    return base::invalid_argument(fmt::format("speedup is {}: must be above 0", o.speedup));
  }
  return {};
}

Arrivals::Arrivals(const ArrivalOptions& options, base::Random random)
    : options_(options), random_(random) {
  CHECK(validate(options).ok(), "arrival options must be validated first");
  // Starts within a burst as often as any other moment is within one.
  bursting_ = random_.uniform() >= options_.burst_share;  // next_bursty() switches at once
}

base::Nanos Arrivals::next(base::Nanos recorded) {
  switch (options_.kind) {
    case ArrivalKind::kPoisson:
      at_s_ += random_.exponential(1 / options_.per_second);
      break;
    case ArrivalKind::kConstant:
      // From the count, not by adding gaps: no error builds up.
      at_s_ = static_cast<double>(sent_++) / options_.per_second;
      break;
    case ArrivalKind::kBursty:
      at_s_ = next_bursty();
      break;
    case ArrivalKind::kTrace:
      at_s_ = std::max(at_s_, base::to_seconds(recorded) / options_.speedup);
      break;
  }
  return base::from_seconds(at_s_);
}

double Arrivals::next_bursty() {
  // Of the time, a share s is within bursts of rate r times the quiet rate q: s r q + (1 - s) q is
  // the mean. States last exponential times whose means keep that share.
  const double share = options_.burst_share;
  const double quiet = options_.per_second / (share * options_.burst_ratio + 1 - share);
  const double burst_s = base::to_seconds(options_.burst_length);
  const double quiet_s = burst_s * (1 - share) / share;
  double at = at_s_;
  for (;;) {
    if (at >= switch_s_) {
      bursting_ = !bursting_;
      switch_s_ = at + random_.exponential(bursting_ ? burst_s : quiet_s);
    }
    const double rate = bursting_ ? quiet * options_.burst_ratio : quiet;
    const double candidate = at + random_.exponential(1 / rate);
    if (candidate < switch_s_) return candidate;
    at = switch_s_;  // a Poisson process has no memory: draw again at the other rate
  }
}

}  // namespace fairlead::workload
