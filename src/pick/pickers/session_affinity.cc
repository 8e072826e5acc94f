#include "pick/pickers/session_affinity.h"

#include <array>

#include "base/hash.h"
#include "pick/pickers/least_load.h"

namespace fairlead::pick {
namespace {

constexpr std::array<std::string_view, 1> kSessionAffinityScorers{"load"};

uint64_t rank(const Context& context, Slot slot) {
  return base::mix64(*context.query.session ^ context.columns.identity(slot));
}

}  // namespace

std::span<const std::string_view> SessionAffinityPicker::scorers() const {
  return kSessionAffinityScorers;
}

Pick SessionAffinityPicker::pick(const Context& context) const {
  const std::vector<Slot>& candidates = context.scratch.candidates;
  const Scores& load = context.scratch.scores[0];
  context.score(0, candidates);
  if (!context.query.session) {
    return {least_loaded(context, candidates, load), Reason::kLeastLoaded};
  }
  double sum = 0;
  for (const Slot slot : candidates) sum += static_cast<double>(load[slot]);
  // The least loaded candidate is always below it.
  const double bound = kLoadFactor * (sum / static_cast<double>(candidates.size()) + 1);
  std::optional<Slot> home;
  std::optional<Slot> allowed;
  uint64_t home_rank = 0;
  uint64_t allowed_rank = 0;
  for (const Slot slot : candidates) {
    const uint64_t r = rank(context, slot);
    if (!home || r > home_rank) {
      home = slot;
      home_rank = r;
    }
    if (static_cast<double>(load[slot]) < bound && (!allowed || r > allowed_rank)) {
      allowed = slot;
      allowed_rank = r;
    }
  }
  return {*allowed, allowed == home ? Reason::kSession : Reason::kSessionTooBusy};
}

bool SessionAffinityPicker::prefers(const Context& context, Slot a, Slot b) const {
  if (context.query.session) return rank(context, a) > rank(context, b);
  const Scores& load = context.scratch.scores[0];
  return load[a] < load[b];
}

}  // namespace fairlead::pick
