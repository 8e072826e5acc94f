#include "pick/scorers/least_request.h"

#include <algorithm>

#include "pick/whole.h"

namespace fairlead::pick {
namespace {

constexpr int64_t kWaitingWeight = 100;

float base_of(const Columns& columns, Slot slot) {
  const uint32_t load = columns.load(slot);
  return static_cast<float>(load + kWaitingWeight * columns.beyond_running(slot, load));
}

}  // namespace

void LeastRequestScorer::score(const Context& context, std::span<const Slot> slots,
                               Scores& scores) const {
  float most = 0;
  for (const Slot slot : slots) {
    const float base = base_of(context.columns, slot);
    scores[slot] = base;
    most = std::max(most, base);
  }
  const double points = most > 0 ? 100 / static_cast<double>(most) : 0;
  for (const Slot slot : slots) {
    scores[slot] = static_cast<float>(whole(100 - points * static_cast<double>(scores[slot])));
  }
}

}  // namespace fairlead::pick
