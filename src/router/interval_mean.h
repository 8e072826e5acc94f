// IntervalMean: what a histogram of an engine measured between two scrapes, from its sum and count.
// Pure; one for each histogram of a replica.
//
//   IntervalMean ttft(std::chrono::seconds(10));
//   base::Nanos mean = ttft.update(load.ttft_seconds, load.ttft_count, now);   // 0: not measured
#pragma once

#include <optional>

#include "base/clock.h"

namespace fairlead::router {

class IntervalMean {
 public:
  // A mean is kept for `age_max` without new observations. A replica that was slow once and got no
  // requests since must not look slow for ever.
  explicit IntervalMean(base::Nanos age_max) : age_max_(age_max) {}

  // The mean of the observations since the last call, or that of before if there were none. Counts
  // that go down are those of a new process and stand for themselves; what makes no sense, and the
  // first call, which may tell of any time ago, measure nothing.
  base::Nanos update(std::optional<double> seconds, std::optional<double> count,
                     base::TimePoint now);

 private:
  struct Totals {
    double seconds = 0;
    double count = 0;
  };

  base::Nanos age_max_;
  std::optional<Totals> last_;
  base::Nanos mean_{0};
  base::TimePoint measured_at_{};
};

}  // namespace fairlead::router
