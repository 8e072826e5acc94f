#include "pick/filters/slow_start.h"

namespace fairlead::pick {
namespace {

bool passes(const Columns& columns, Slot slot, double mean_in_flight, base::Random& random) {
  const auto share = static_cast<double>(columns.share(slot));
  const uint32_t in_flight = columns.in_flight(slot);
  if (share <= 0) return in_flight < SlowStartFilter::kTrialsMax;
  return in_flight < share * mean_in_flight + 1 && random.uniform() < share;
}

}  // namespace

void SlowStartFilter::apply(const Context& context) const {
  const Columns& columns = context.columns;
  if (columns.returning() == 0) return;
  std::vector<Slot>& candidates = context.scratch.candidates;
  uint64_t in_flight = 0;
  size_t whole = 0;
  for (const Slot slot : candidates) {
    if (columns.share(slot) < 1) continue;
    in_flight += columns.in_flight(slot);
    ++whole;
  }
  if (whole == 0 || whole == candidates.size()) return;
  const double mean = static_cast<double>(in_flight) / static_cast<double>(whole);
  // Should all have begun to come back since they were counted, the first one passes.
  const Slot first = candidates.front();
  std::erase_if(candidates, [&](Slot slot) {
    return columns.share(slot) < 1 && !passes(columns, slot, mean, context.random);
  });
  if (candidates.empty()) candidates.push_back(first);
}

std::string_view SlowStartFilter::why(const Context& context, Slot slot) const {
  const float share = context.columns.share(slot);
  if (share <= 0) return "on trial";
  return share < 1 ? "slow start" : "";
}

}  // namespace fairlead::pick
