#include "pick/pickers/round_robin.h"

namespace fairlead::pick {

Pick RoundRobinPicker::pick(const Context& context) const {
  const std::vector<Slot>& candidates = context.scratch.candidates;
  const uint64_t turn = context.query.model->turn.fetch_add(1, std::memory_order_relaxed);
  return {candidates[turn % candidates.size()], Reason::kTurn};
}

}  // namespace fairlead::pick
