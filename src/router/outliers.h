// Replicas compared with those that do the same work, and how many may be left out at once. Pure.
//
// A pool is the replicas that list one model, by slot: requests of one model are alike,
// those of two may not be, so a replica is compared only within its pools.
//
// An outlier fails much more often than the rest of each of its pools: kErrorsMin failures, at
// least kShareMin of its answers, and kTimesOthers times the others' share. Poisoned requests
// fail everywhere alike, so nobody stands out by them.
// Rejected: mean and deviation of success rates, as larger proxies have it (with three replicas the
// broken one is half of the deviation that it is measured by).
//
// The panic rule: where the breakers of more than `ejected_share_max` of a pool's replicas are
// open, all of them are used as if they were closed. So many at once are rarely broken each by
// itself, and the rest could not take their work. It is about breakers only: replicas that are down
// or silent (health.h) do not come back by it, and do not count.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pick/columns.h"
#include "router/breaker.h"

namespace fairlead::router {

using Pool = std::vector<pick::Slot>;

inline constexpr uint64_t kOutlierErrorsMin = 5;
inline constexpr uint64_t kOutlierOthersMin = 20;  // answers of the rest of the pool
inline constexpr double kOutlierShareMin = 0.1;
inline constexpr double kOutlierTimesOthers = 4;

bool stands_out(const Answers& own, const Answers& others);
// Ascending. `answers` are by slot; those of replicas that are not to be compared are zero.
std::vector<pick::Slot> find_outliers(std::span<const Pool> pools,
                                      std::span<const Answers> answers);

enum class Standing : uint8_t { kUsed, kEjected, kUnfit };
// Which of the ejected are to be used in spite of it, by slot.
std::vector<bool> find_spared(std::span<const Pool> pools, std::span<const Standing> standings,
                              double ejected_share_max);

}  // namespace fairlead::router
