// Arrivals: when the requests of an open loop start.
//
// A closed loop keeps a number of clients busy: each sends its next request when its last one
// ended, so a slow server is asked less. An open loop sends at a rate whatever the answers do, as
// the users of a service do; its latencies count from the planned arrival, so waiting in the client
// shows.
//
//   poisson   independent users: exponential gaps.
//   constant  equal gaps, for measuring what a server does without the noise of arrivals.
//   bursty    a Poisson process whose rate switches between two levels at random (a
//   Markov-modulated
//             Poisson process with two states): most of the time quiet, now and then a burst.
//   trace     the times that were recorded, `speedup` times as fast.
//
// Pure: offsets come out, nothing waits. One thread.
//
//   Arrivals arrivals({.per_second = 20}, Random(seed));
//   Nanos at = arrivals.next();  // since the start of the run
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"

namespace fairlead::workload {

enum class ArrivalKind : uint8_t { kPoisson, kConstant, kBursty, kTrace };

struct ArrivalOptions {
  ArrivalKind kind = ArrivalKind::kPoisson;
  double per_second = 1;  // the mean over all of the run; a trace has its own
  // Bursty: the rate within a burst over that between bursts, the share of the time that is within
  // one, and how long one lasts on average.
  double burst_ratio = 5;
  double burst_share = 0.2;
  base::Nanos burst_length = std::chrono::seconds(10);
  double speedup = 1;  // of a trace
};

// Names the field that is out of bounds and what is allowed.
base::Result<> validate(const ArrivalOptions& options);

class Arrivals {
 public:
  // `options` must be valid.
  Arrivals(const ArrivalOptions& options, base::Random random);

  // The next arrival, counted from the start of the run; never earlier than the one before. A trace
  // needs the time that was recorded for it.
  base::Nanos next(base::Nanos recorded = base::Nanos(0));

 private:
  double next_bursty();

  ArrivalOptions options_;
  base::Random random_;
  double at_s_ = 0;
  uint64_t sent_ = 0;
  bool bursting_ = false;
  double switch_s_ = 0;  // bursty: when the rate changes next
};

}  // namespace fairlead::workload
