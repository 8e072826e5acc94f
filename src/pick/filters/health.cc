#include "pick/filters/health.h"

#include <algorithm>

namespace fairlead::pick {

void HealthFilter::apply(const Context& context) const {
  const Columns& columns = context.columns;
  if (columns.unready() == 0) return;
  std::vector<Slot>& candidates = context.scratch.candidates;
  // Read once a candidate: health may change while we look.
  std::vector<Slot>& suspects = context.scratch.shortlist;
  suspects.clear();
  size_t kept = 0;
  for (const Slot slot : candidates) {
    const Health health = columns.health(slot);
    if (health == Health::kSuspect || health == Health::kEjected) suspects.push_back(slot);
    candidates[kept] = slot;
    kept += health == Health::kReady ? 1 : 0;
  }
  if (kept == 0) {
    candidates.assign(suspects.begin(), suspects.end());
  } else {
    candidates.resize(kept);
  }
}

std::string_view HealthFilter::why(const Context& context, Slot slot) const {
  switch (context.columns.health(slot)) {
    case Health::kReady:
      return "";
    case Health::kSuspect:
      return "suspect";
    case Health::kEjected:
      return "ejected";
    case Health::kDown:
      return "down";
  }
  return "";
}

}  // namespace fairlead::pick
