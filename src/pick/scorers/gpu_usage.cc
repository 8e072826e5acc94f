#include "pick/scorers/gpu_usage.h"

namespace fairlead::pick {
namespace {

constexpr float kUnknown = 50;

}  // namespace

void GpuUsageScorer::score(const Context& context, std::span<const Slot> slots,
                           Scores& scores) const {
  const Columns& columns = context.columns;
  for (const Slot slot : slots) {
    const bool known = columns.fresh(slot) || columns.in_flight(slot) == 0;
    scores[slot] = known ? columns.kv_free_percent(slot) : kUnknown;
  }
}

}  // namespace fairlead::pick
