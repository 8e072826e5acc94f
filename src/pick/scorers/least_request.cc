#include "pick/scorers/least_request.h"

#include <algorithm>

#include "pick/scorers/whole.h"

namespace fairlead::pick {
namespace {

constexpr float kWaitingWeight = 100;

float base_of(const Columns& columns, Slot slot) {
  const auto load = static_cast<float>(columns.load(slot));
  if (!columns.fresh(slot)) return load;
  return load + kWaitingWeight * std::max(load - static_cast<float>(columns.running(slot)), 0.0F);
}

}  // namespace

void LeastRequestScorer::score(const Context& context, std::span<const Slot> slots,
                               Scores& scores) const {
  float most = 0;
  for (const Slot slot : slots) {
    scores[slot] = base_of(context.columns, slot);
    most = std::max(most, scores[slot]);
  }
  const double points = most > 0 ? 100 / static_cast<double>(most) : 0;
  for (const Slot slot : slots) {
    scores[slot] = static_cast<float>(whole(100 - points * static_cast<double>(scores[slot])));
  }
}

}  // namespace fairlead::pick
