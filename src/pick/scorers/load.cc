#include "pick/scorers/load.h"

namespace fairlead::pick {

void LoadScorer::score(const Context& context, std::span<const Slot> slots, Scores& scores) const {
  for (const Slot slot : slots) {
    scores[slot] = static_cast<float>(context.columns.load(slot));
  }
}

}  // namespace fairlead::pick
