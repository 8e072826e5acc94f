// A circuit breaker for one replica: pure, told what became of requests there, asked for its state.
//
//   closed     the replica is used; `failures_max` failures in a row, or a share of failures in the
//              window, open it, and so may a comparison with other replicas (outliers.h)
//   open       the replica is left out for `open_min`, twice as long each time it comes again, at
//              most `open_max`
//   half-open  a few requests at a time try it: kTrials good answers close it, one failure opens it
//
// What counts is a request that failed before its first byte: no connection, a reset, a 5xx. Time
// never counts: an answer that takes long, or its time-out, says how much was asked for, and a
// breaker that opens on it takes healthy replicas out one after the other under load. An answer
// that breaks off later is compared with those of other replicas only, for what cuts long answers
// off is often a box in between, and then they all have it.
//
// Rejected: to let answers in the open state close it early (the few requests that come here then
// had nowhere else to go, and say nothing about usual load); a fixed time in the open state (a
// replica that is broken for good would cost a failed try each few seconds for ever).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/clock.h"

namespace fairlead::router {

// What became of requests to a replica.
struct Answers {
  uint64_t good = 0;    // it began to answer, be it with a 4xx
  uint64_t bad = 0;     // failed before the first byte
  uint64_t broken = 0;  // broke off after it

  Answers& operator+=(const Answers& more);
  Answers operator-(const Answers& less) const;
  uint64_t all() const { return good + bad; }  // the broken ones were good before
};

enum class BreakerState : uint8_t { kClosed, kHalfOpen, kOpen };
std::string_view to_string(BreakerState state);

enum class EjectReason : uint8_t { kFailures, kErrorShare, kOutlier, kTrial };
inline constexpr size_t kEjectReasons = 4;
std::string_view to_string(EjectReason reason);

struct BreakerOptions {
  uint32_t failures_max = 5;  // in a row; 0: never
  double error_share = 0.5;   // of the answers in the window
  base::Nanos window = std::chrono::seconds(10);
  base::Nanos open_min = std::chrono::seconds(5);
  base::Nanos open_max = std::chrono::seconds(60);
};

class Breaker {
 public:
  static constexpr uint64_t kErrorsMin = 5;  // in the window, before their share means anything
  static constexpr uint64_t kTrials = 3;

  explicit Breaker(const BreakerOptions& options) : options_(options) {}

  // What came since the last call. Call at least every few hundred milliseconds.
  void note(const Answers& answers, base::TimePoint now);
  // Opens it if it is closed: the replica stands out among others.
  void eject_outlier(base::TimePoint now);
  // Another process answers at the address: it need not wait for the time of the old one to be
  // over, but has to pass the trial.
  void restarted(base::TimePoint now);

  BreakerState state() const { return state_; }
  // Of the window, in the closed state.
  Answers recent(base::TimePoint now) const;
  // How often it has opened.
  uint64_t opened(EjectReason reason) const { return opened_[static_cast<size_t>(reason)]; }

 private:
  static constexpr int64_t kSlices = 10;
  struct Slice {
    int64_t at = -kSlices;
    Answers answers;
  };
  int64_t slice_number(base::TimePoint now) const;
  void open(EjectReason reason, base::TimePoint now);
  void forget();

  BreakerOptions options_;
  BreakerState state_ = BreakerState::kClosed;
  std::array<Slice, kSlices> slices_;
  uint64_t in_a_row_ = 0;
  uint64_t trials_passed_ = 0;
  base::Nanos open_for_{0};
  base::TimePoint open_until_{};
  base::TimePoint closed_at_{};
  std::array<uint64_t, kEjectReasons> opened_{};
};

}  // namespace fairlead::router
