#include "router/health.h"

#include <algorithm>

namespace fairlead::router {

std::string_view name_of(pick::Health health) {
  switch (health) {
    case pick::Health::kReady:
      return "ready";
    case pick::Health::kSuspect:
      return "suspect";
    case pick::Health::kDown:
      return "down";
  }
  return "down";
}

void ReplicaHealth::probe_sent(base::TimePoint now) {
  waiting_since_ = std::min(waiting_since_, now);
}

void ReplicaHealth::probe_answered(int status, base::TimePoint now) {
  heard(now);
  waiting_since_ = base::kNever;
  ever_answered_ = true;
  // An engine without /health (404) is as good as one that says 200.
  failures_ = status >= 500 ? failures_ + 1 : 0;
}

void ReplicaHealth::probe_failed(ProbeFailure failure, base::TimePoint) {
  if (failure == ProbeFailure::kTimedOut) return;  // still waiting, as far as silence goes
  waiting_since_ = base::kNever;
  ++failures_;
}

void ReplicaHealth::heard(base::TimePoint at) { heard_ = std::max(heard_, at); }

bool ReplicaHealth::silent(base::TimePoint now, base::Nanos limit) const {
  if (waiting_since_ == base::kNever) return false;
  return now - waiting_since_ >= options_.probe_wait_min && now - heard_ >= limit;
}

void ReplicaHealth::judge_answers(base::TimePoint now) {
  const uint64_t good = good_total_ - good_at_window_;
  if (bad_ >= options_.bad_answers_min && bad_ >= good) {
    // Within a cool-down only the panic rule sends requests here; their failures do not prolong it.
    if (now >= cool_until_) {
      const bool again = now - cool_until_ < options_.window && cool_down_ > base::Nanos(0);
      cool_down_ =
          again ? std::min(cool_down_ * 2, options_.cool_down_max) : options_.cool_down_min;
      cool_until_ = now + cool_down_;
    }
    window_start_ = now - options_.window;
  }
  if (now - window_start_ >= options_.window) {
    window_start_ = now;
    bad_ = 0;
    good_at_window_ = good_total_;
  }
}

ReplicaHealth::Verdict ReplicaHealth::judge(base::TimePoint now) {
  judge_answers(now);
  const bool was_silent = silent_;
  silent_ = silent(now, options_.silence_max);
  const pick::Health before = health_;
  if (failures_ >= kFailuresDown || silent(now, options_.silence_down)) {
    health_ = pick::Health::kDown;
  } else if (failures_ > 0 || silent_ || !ever_answered_ || now < cool_until_) {
    health_ = pick::Health::kSuspect;
  } else {
    health_ = pick::Health::kReady;
  }

  Verdict verdict{.health = health_};
  const bool down_now = health_ == pick::Health::kDown && before != pick::Health::kDown;
  verdict.evacuate = down_now || (silent_ && !was_silent);
  if (failures_ >= kFailuresDown && ever_answered_) gone_ = true;
  if (gone_ && health_ == pick::Health::kReady) {
    gone_ = false;
    verdict.restarted = true;
  }
  return verdict;
}

}  // namespace fairlead::router
