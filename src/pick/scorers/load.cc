#include "pick/scorers/load.h"

namespace fairlead::pick {

void LoadScorer::score(const Context& context, Scores& scores) const {
  for (const Slot slot : context.scratch.candidates) {
    scores[slot] = static_cast<float>(context.columns.load(slot));
  }
}

}  // namespace fairlead::pick
