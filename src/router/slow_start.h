// The share of its usual work that a replica gets after it came back: it grows from kShareMin to 1
// over a window, because its caches are cold and because pickers that look for the least loaded
// would send it everything at once. Pure.
//
//   SlowStart start(seconds(10));
//   start.begin(now);              // it is back
//   columns.set_share(slot, start.share(now));
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace fairlead::router {

class SlowStart {
 public:
  static constexpr double kShareMin = 0.1;

  // A window of 0: there is no slow start.
  explicit SlowStart(base::Nanos window) : window_(window) {}

  void begin(base::TimePoint now) { whole_at_ = base::after(now, window_); }
  double share(base::TimePoint now) const {
    if (now >= whole_at_) return 1;
    const double left = base::to_seconds(whole_at_ - now) / base::to_seconds(window_);
    return std::max(kShareMin, 1 - left);
  }

 private:
  base::Nanos window_;
  base::TimePoint whole_at_{};
};

}  // namespace fairlead::router
