// Time as the whole system sees it. Decisions take a TimePoint; only shells own a Clock.
//
// A TimePoint counts from an arbitrary start and never goes back (CLOCK_MONOTONIC, or virtual
// time). Wall time is for dates in messages only.
#pragma once

#include <chrono>
#include <cstdint>

namespace fairlead::base {

struct Monotonic {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  static constexpr bool is_steady = true;
};

using Nanos = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<Monotonic, Nanos>;
using WallTime = std::chrono::sys_time<Nanos>;

// "Never": a deadline that does not fire. Adding to it saturates by convention: compare first.
inline constexpr TimePoint kNever = TimePoint::max();

// now + wait, or kNever where that would overflow.
constexpr TimePoint after(TimePoint now, Nanos wait) {
  return wait >= kNever - now ? kNever : now + wait;
}

constexpr double to_seconds(Nanos d) { return std::chrono::duration<double>(d).count(); }
constexpr double to_ms(Nanos d) { return std::chrono::duration<double, std::milli>(d).count(); }
constexpr Nanos from_seconds(double s) { return Nanos(static_cast<int64_t>(s * 1e9)); }

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
  virtual WallTime wall() const = 0;
};

// The machine's clock. Thread safe.
class SystemClock final : public Clock {
 public:
  TimePoint now() const override;
  WallTime wall() const override;
};

// A clock that stands still until it is moved; starts at `start_wall`. One thread.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(WallTime start_wall = WallTime(std::chrono::seconds(1'767'225'600)))
      : start_wall_(start_wall) {}
  TimePoint now() const override { return now_; }
  WallTime wall() const override { return start_wall_ + now_.time_since_epoch(); }
  // `to` must not lie before now().
  void advance_to(TimePoint to);

 private:
  WallTime start_wall_;
  TimePoint now_{};
};

}  // namespace fairlead::base
