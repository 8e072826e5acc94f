// The load generator watches itself: how much of a core its thread used, and how long it was ready
// to run while the machine ran something else. A client without time to spare reads answers late,
// and then its latencies are its own, not the server's.
//
// A window of a quarter of a second in which using and waiting together fill nine tenths counts as
// saturated. The report warns when such windows, or the waiting alone, are more than a few percent
// of the run (workload::ClientShare).
//
//   group.spawn(watch_client(thread_cpu_times, log.client.emplace()));  // until cancelled
#pragma once

#include <functional>

#include "base/clock.h"
#include "rt/task.h"
#include "workload/samples.h"

namespace fairlead::bench {

struct CpuTimes {
  base::Nanos used{0};
  base::Nanos waited{0};
};
using CpuClock = std::function<CpuTimes()>;

// Of the calling thread, since it began. Where the kernel does not count the waiting, it is zero.
CpuTimes thread_cpu_times();

// Adds to `use` until its scope is cancelled.
rt::Task<void> watch_client(CpuClock clock, workload::ClientUse& use);

}  // namespace fairlead::bench
