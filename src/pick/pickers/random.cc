#include "pick/pickers/random.h"

namespace fairlead::pick {

Pick RandomPicker::pick(const Context& context) const {
  const std::vector<Slot>& candidates = context.scratch.candidates;
  return {candidates[context.random.below(candidates.size())], Reason::kDrawn};
}

}  // namespace fairlead::pick
