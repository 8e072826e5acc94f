// Arrivals: when the requests of a run start.
//
// A closed loop keeps a number of clients busy: each sends its next request when its last one
// ended, so a slow server is asked less. An open loop sends at a rate whatever the answers do, as
// the users of a service do; its latencies count from the planned arrival, so waiting in the client
// shows. Pure: offsets come out, nothing waits. One thread.
//
//   PoissonArrivals arrivals(20, Random(seed));
//   Nanos at = arrivals.next();  // since the start of the run
#pragma once

#include "base/clock.h"
#include "base/random.h"

namespace fairlead::workload {

// A Poisson process: independent exponential gaps.
class PoissonArrivals {
 public:
  // `per_second` > 0.
  PoissonArrivals(double per_second, base::Random random);
  // The next arrival, counted from the start of the run; never earlier than the one before.
  base::Nanos next();

 private:
  double mean_gap_s_;
  double at_s_ = 0;
  base::Random random_;
};

}  // namespace fairlead::workload
