// Is a replica fit for requests? A pure state machine a replica, fed with what probes and traffic
// tell, asked for a verdict.
//
// Three kinds of evidence:
//  - The process is not there: connections are refused, or /health says 5xx. One such failure makes
//    it suspect, kFailuresDown in a row make it down. Requests report failed connections as well,
//    so a busy router notices at once.
//  - It says nothing: a probe waits for `probe_wait_min` and nothing at all, neither an answer to a
//    probe nor a byte of a stream, has been heard for `silence_max`. It is then suspect, and
//    requests without a first byte leave it; after `silence_down` it is down. A replica that misses
//    probes while its streams flow is busy, not dead: nothing happens.
//  - It answers badly: in a window at least `bad_answers_min` requests failed (reset, 5xx) and they
//    were at least half of all. It is suspect for a cool-down, which doubles while it goes on so.
//
// Rejected: consecutive 5xx alone (one poisoned prompt sent by many clients would take replica
// after replica away); success rates over long windows (slow to notice, slow to forgive).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "pick/columns.h"

namespace fairlead::router {

// "ready", "suspect" or "down": for people, metrics and the debug server.
std::string_view name_of(pick::Health health);

struct HealthOptions {
  base::Nanos silence_max = std::chrono::seconds(2);
  base::Nanos silence_down = std::chrono::seconds(10);
  base::Nanos probe_wait_min = std::chrono::seconds(1);
  base::Nanos window = std::chrono::seconds(10);
  uint64_t bad_answers_min = 5;
  base::Nanos cool_down_min = std::chrono::seconds(5);
  base::Nanos cool_down_max = std::chrono::seconds(60);
};

class ReplicaHealth {
 public:
  static constexpr uint32_t kFailuresDown = 2;

  // Suspect until the first probe is answered. `good_total` is what good_answers() starts from.
  ReplicaHealth(const HealthOptions& options, base::TimePoint now, uint64_t good_total)
      : options_(options),
        heard_(now),
        window_start_(now),
        good_total_(good_total),
        good_at_window_(good_total) {}

  // A probe was sent; it ends with one of the two below.
  void probe_sent(base::TimePoint now);
  void probe_answered(int status, base::TimePoint now);
  // `refused`: no connection, or one that broke; otherwise it ran out of time.
  enum class ProbeFailure : uint8_t { kRefused, kTimedOut };
  void probe_failed(ProbeFailure failure, base::TimePoint now);

  // Requests: a connection that could not be made; answers that failed; totals of good answers.
  void connect_failed() { failures_ = std::max(failures_, 1U); }
  void bad_answers(uint64_t count) { bad_ += count; }
  void good_answers(uint64_t total) { good_total_ = total; }
  // The last byte that any shard heard from it.
  void heard(base::TimePoint at);

  struct Verdict {
    pick::Health health = pick::Health::kSuspect;
    bool evacuate = false;   // just now: requests without a first byte must leave
    bool restarted = false;  // just now: it is back after it was gone, so its cache is empty
  };
  // Call at least every few hundred milliseconds.
  Verdict judge(base::TimePoint now);
  pick::Health health() const { return health_; }

 private:
  bool silent(base::TimePoint now, base::Nanos limit) const;
  void judge_answers(base::TimePoint now);

  HealthOptions options_;
  base::TimePoint heard_;
  base::TimePoint waiting_since_ = base::kNever;  // of the oldest probe without an answer
  bool ever_answered_ = false;
  uint32_t failures_ = 0;  // in a row
  bool gone_ = false;      // was down because nobody answered the connection
  bool silent_ = false;

  base::TimePoint window_start_;
  uint64_t bad_ = 0;
  uint64_t good_total_;
  uint64_t good_at_window_;
  base::TimePoint cool_until_{};
  base::Nanos cool_down_{0};

  pick::Health health_ = pick::Health::kSuspect;
};

}  // namespace fairlead::router
