// Is a replica there? A pure state machine a replica, fed with what probes and traffic tell, asked
// for a verdict. Whether what it answers is any good is its breaker's matter (breaker.h).
//
// Two kinds of evidence:
//  - The process is not there: connections are refused, or /health says 5xx. One such failure makes
//    it suspect, kFailuresDown in a row make it down. Requests report failed connections as well,
//    so a busy router notices at once.
//  - It says nothing: a probe waits for `probe_wait_min` and nothing at all, neither an answer to a
//    probe nor a byte of a stream, has been heard for `silence_max`. It is then suspect, and
//    requests without a first byte leave it; after `silence_down` it is down. A replica that misses
//    probes while its streams flow is busy, not dead: nothing happens.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "pick/columns.h"

namespace fairlead::router {

// "ready", "suspect", "ejected" or "down": for people, metrics and the debug server.
std::string_view name_of(pick::Health health);

struct HealthOptions {
  base::Nanos silence_max = std::chrono::seconds(2);
  base::Nanos silence_down = std::chrono::seconds(10);
  base::Nanos probe_wait_min = std::chrono::seconds(1);
};

class ReplicaHealth {
 public:
  static constexpr uint32_t kFailuresDown = 2;

  // Suspect until the first probe is answered.
  ReplicaHealth(const HealthOptions& options, base::TimePoint now)
      : options_(options), heard_(now) {}

  // A probe was sent; it ends with one of the two below.
  void probe_sent(base::TimePoint now);
  void probe_answered(int status, base::TimePoint now);
  // `refused`: no connection, or one that broke; otherwise it ran out of time.
  enum class ProbeFailure : uint8_t { kRefused, kTimedOut };
  void probe_failed(ProbeFailure failure, base::TimePoint now);

  // A request could not connect.
  void connect_failed() { failures_ = std::max(failures_, 1U); }
  // The last byte that any shard heard from it.
  void heard(base::TimePoint at);

  struct Verdict {
    pick::Health health = pick::Health::kSuspect;
    bool evacuate = false;   // just now: requests without a first byte must leave
    bool back = false;       // just now: it is ready again after it was down
    bool restarted = false;  // and it had been gone, so its cache is empty
  };
  // Call at least every few hundred milliseconds.
  Verdict judge(base::TimePoint now);
  pick::Health health() const { return health_; }

 private:
  bool silent(base::TimePoint now, base::Nanos limit) const;

  HealthOptions options_;
  base::TimePoint heard_;
  base::TimePoint waiting_since_ = base::kNever;  // of the oldest probe without an answer
  bool ever_answered_ = false;
  uint32_t failures_ = 0;  // in a row
  bool gone_ = false;      // was down because nobody answered the connection
  bool was_down_ = false;  // since it was ready
  bool silent_ = false;

  pick::Health health_ = pick::Health::kSuspect;
};

}  // namespace fairlead::router
