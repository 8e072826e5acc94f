#include "router/ejections.h"

namespace fairlead::router {

void Ejections::add(pick::Slot slot, uint64_t good_total) {
  replicas_[slot].emplace(options_).good_total = good_total;
}

void Ejections::set_pools(std::vector<Pool> pools) {
  pools_ = std::move(pools);
  spare();
}

void Ejections::note(pick::Slot slot, const Answers& failed, uint64_t good_total,
                     base::TimePoint now) {
  Replica& replica = *replicas_[slot];
  Answers answers = failed;
  answers.good = good_total - replica.good_total;
  replica.good_total = good_total;
  const BreakerState before = replica.breaker.state();
  replica.breaker.note(answers, now);
  const BreakerState after = replica.breaker.state();
  if (before == after) return;
  if (after == BreakerState::kClosed) replica.slow_start.begin(now);
  spare();
}

void Ejections::set_fit(pick::Slot slot, bool fit) {
  if (replicas_[slot]->fit == fit) return;
  replicas_[slot]->fit = fit;
  spare();
}

void Ejections::returned(pick::Slot slot, base::TimePoint now) {
  replicas_[slot]->slow_start.begin(now);
}

void Ejections::restarted(pick::Slot slot, base::TimePoint now) {
  replicas_[slot]->breaker.restarted(now);
}

void Ejections::compare(base::TimePoint now) {
  std::vector<Answers> recent(replicas_.size());
  uint64_t failures = 0;
  for (size_t slot = 0; slot < replicas_.size(); ++slot) {
    if (!replicas_[slot]) continue;
    recent[slot] = replicas_[slot]->breaker.recent(now);
    failures += recent[slot].bad + recent[slot].broken;
  }
  if (failures < kOutlierErrorsMin) return;
  const std::vector<pick::Slot> outliers = find_outliers(pools_, recent);
  for (const pick::Slot slot : outliers) replicas_[slot]->breaker.eject_outlier(now);
  if (!outliers.empty()) spare();
}

bool Ejections::ejected(pick::Slot slot) const {
  const Replica& replica = *replicas_[slot];
  return replica.breaker.state() == BreakerState::kOpen && !replica.spared;
}

double Ejections::share(pick::Slot slot, base::TimePoint now) const {
  const Replica& replica = *replicas_[slot];
  if (replica.breaker.state() == BreakerState::kHalfOpen) return 0;
  return replica.slow_start.share(now);
}

// The panic rule.
void Ejections::spare() {
  std::vector<Standing> standings(replicas_.size(), Standing::kUnfit);
  for (size_t slot = 0; slot < replicas_.size(); ++slot) {
    if (!replicas_[slot] || !replicas_[slot]->fit) continue;
    const bool open = replicas_[slot]->breaker.state() == BreakerState::kOpen;
    standings[slot] = open ? Standing::kEjected : Standing::kUsed;
  }
  const std::vector<bool> spared = find_spared(pools_, standings, options_.ejected_share_max);
  for (size_t slot = 0; slot < replicas_.size(); ++slot) {
    if (replicas_[slot]) replicas_[slot]->spared = spared[slot];
  }
}

}  // namespace fairlead::router
