#include "workload/arrivals.h"

#include "base/check.h"

namespace fairlead::workload {

PoissonArrivals::PoissonArrivals(double per_second, base::Random random)
    : mean_gap_s_(1 / per_second), random_(random) {
  CHECK(per_second > 0, "an open loop needs a rate above zero");
}

base::Nanos PoissonArrivals::next() {
  at_s_ += random_.exponential(mean_gap_s_);
  return base::from_seconds(at_s_);
}

}  // namespace fairlead::workload
