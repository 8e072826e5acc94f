#include "bench/client_cpu.h"

#include <cinttypes>
#include <cstdio>
#include <ctime>

#include "rt/loop.h"
#include "rt/waiter.h"

namespace fairlead::bench {
namespace {

using base::Nanos;
using base::TimePoint;

constexpr Nanos kWindow = std::chrono::milliseconds(250);
constexpr double kSaturatedMin = 0.9;

}  // namespace

CpuTimes thread_cpu_times() {
  CpuTimes times;
  timespec used{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0) {
    times.used = std::chrono::seconds(used.tv_sec) + Nanos(used.tv_nsec);
  }
  // "time on a core, time waiting for one, times put on one"
  if (std::FILE* file = std::fopen("/proc/thread-self/schedstat", "re")) {
    int64_t on_core = 0;
    int64_t waited = 0;
    if (std::fscanf(file, "%" SCNd64 " %" SCNd64, &on_core, &waited) == 2) {
      times.waited = Nanos(waited);
    }
    std::fclose(file);
  }
  return times;
}

rt::Task<void> watch_client(CpuClock clock, workload::ClientUse& use) {
  rt::Scope& scope = co_await rt::current_scope();
  const rt::Loop& loop = scope.loop();
  CpuTimes last = clock();
  TimePoint begin = loop.clock().now();
  for (bool watching = true; watching;) {
    const rt::WaitStatus status = co_await rt::sleep_until(base::after(begin, kWindow));
    watching = status != rt::WaitStatus::kCancelled;
    const CpuTimes times = clock();
    const TimePoint now = loop.clock().now();
    const Nanos busy = times.used - last.used + times.waited - last.waited;
    use.cpu += times.used - last.used;
    use.waiting += times.waited - last.waited;
    if (base::to_seconds(busy) >= kSaturatedMin * base::to_seconds(now - begin)) {
      use.saturated += now - begin;
    }
    last = times;
    begin = now;
  }
}

}  // namespace fairlead::bench
