#include "pick/scorers/random.h"

namespace fairlead::pick {

void RandomScorer::score(const Context& context, std::span<const Slot> slots,
                         Scores& scores) const {
  for (const Slot slot : slots) scores[slot] = static_cast<float>(context.random.below(101));
}

}  // namespace fairlead::pick
