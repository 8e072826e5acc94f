// A slice: a part of the run against one target, as a closed or an open loop. Targets that are
// compared take turns, a slice each. One loop; any Network.
//
//   co_await run_slice(target, {.requests = 50, .concurrency = 4});
//
// A conversation that the end of a slice cuts goes on in the target's next slice.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "bench/load.h"
#include "rt/task.h"
#include "workload/arrivals.h"

namespace fairlead::bench {

// A slice ends at the first limit, or with its trace, when all it sent is answered.
struct SliceOptions {
  std::optional<uint64_t> requests;
  std::optional<base::Nanos> duration;
  uint32_t concurrency = 1;                          // closed loop
  std::optional<workload::ArrivalOptions> arrivals;  // open loop instead; a rate of requests
};

rt::Task<void> run_slice(LoadTarget& target, SliceOptions options);

}  // namespace fairlead::bench
