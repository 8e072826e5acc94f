// Which replicas are left out because their answers fail, and how much work those get that come
// back: each one's breaker and slow start, the comparison between them and the panic rule, put
// together. Pure; belongs to one loop, the control's.
//
//   ejections.add(slot, good_answers_so_far);
//   ejections.note(slot, {.bad = 1}, good_answers_so_far, now);
//   ejections.compare(now);                          // every few hundred milliseconds
//   if (ejections.ejected(slot)) ...
#pragma once

#include <optional>
#include <vector>

#include "router/breaker.h"
#include "router/outliers.h"
#include "router/slow_start.h"

namespace fairlead::router {

struct EjectionOptions {
  BreakerOptions breaker;
  double ejected_share_max = 0.5;  // of the replicas of a model; see outliers.h
  base::Nanos slow_start = std::chrono::seconds(10);
};

class Ejections {
 public:
  Ejections(const EjectionOptions& options, uint32_t slots) : options_(options), replicas_(slots) {}

  // A new replica takes the slot, or leaves it; it is in no pool then.
  void add(pick::Slot slot, uint64_t good_total);
  void remove(pick::Slot slot) { replicas_[slot].reset(); }
  void set_pools(std::vector<Pool> pools);

  // What failed since the last call, and how many answers were good since ever.
  void note(pick::Slot slot, const Answers& failed, uint64_t good_total, base::TimePoint now);
  // It is ready, as far as health goes.
  void set_fit(pick::Slot slot, bool fit);
  // It is ready again after it was down; and then perhaps as another process.
  void returned(pick::Slot slot, base::TimePoint now);
  void restarted(pick::Slot slot, base::TimePoint now);
  // Ejects those that stand out among their peers.
  void compare(base::TimePoint now);

  // Left out: its breaker is open and not too many are.
  bool ejected(pick::Slot slot) const;
  // Its breaker is open, and it is used all the same.
  bool spared(pick::Slot slot) const { return replicas_[slot]->spared; }
  const Breaker& breaker(pick::Slot slot) const { return replicas_[slot]->breaker; }
  // Of its usual work: 0 on trial, 1 as a rule.
  double share(pick::Slot slot, base::TimePoint now) const;

 private:
  struct Replica {
    explicit Replica(const EjectionOptions& options)
        : breaker(options.breaker), slow_start(options.slow_start) {}
    Breaker breaker;
    SlowStart slow_start;
    uint64_t good_total = 0;
    bool fit = false;
    bool spared = false;
  };
  void spare();

  const EjectionOptions options_;
  std::vector<std::optional<Replica>> replicas_;  // by slot
  std::vector<Pool> pools_;
};

}  // namespace fairlead::router
