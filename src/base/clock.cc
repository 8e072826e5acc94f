#include "base/clock.h"

#include <ctime>

#include "base/check.h"

namespace fairlead::base {

TimePoint SystemClock::now() const {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return TimePoint(std::chrono::seconds(ts.tv_sec) + Nanos(ts.tv_nsec));
}

WallTime SystemClock::wall() const {
  return std::chrono::time_point_cast<Nanos>(std::chrono::system_clock::now());
}

void ManualClock::advance_to(TimePoint to) {
  CHECK(to >= now_, "time runs forward");
  now_ = to;
}

}  // namespace fairlead::base
