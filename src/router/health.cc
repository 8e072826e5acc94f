#include "router/health.h"

#include <algorithm>
#include <utility>

namespace fairlead::router {

std::string_view name_of(pick::Health health) {
  switch (health) {
    case pick::Health::kReady:
      return "ready";
    case pick::Health::kSuspect:
      return "suspect";
    case pick::Health::kEjected:
      return "ejected";
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

ReplicaHealth::Verdict ReplicaHealth::judge(base::TimePoint now) {
  const bool was_silent = silent_;
  silent_ = silent(now, options_.silence_max);
  const pick::Health before = health_;
  if (failures_ >= kFailuresDown || silent(now, options_.silence_down)) {
    health_ = pick::Health::kDown;
  } else if (failures_ > 0 || silent_ || !ever_answered_) {
    health_ = pick::Health::kSuspect;
  } else {
    health_ = pick::Health::kReady;
  }

  Verdict verdict{.health = health_};
  const bool down_now = health_ == pick::Health::kDown && before != pick::Health::kDown;
  verdict.evacuate = down_now || (silent_ && !was_silent);
  if (ever_answered_ && health_ == pick::Health::kDown) was_down_ = true;
  if (ever_answered_ && failures_ >= kFailuresDown) gone_ = true;
  if (health_ == pick::Health::kReady) {
    verdict.back = std::exchange(was_down_, false);
    verdict.restarted = std::exchange(gone_, false);
  }
  return verdict;
}

}  // namespace fairlead::router
