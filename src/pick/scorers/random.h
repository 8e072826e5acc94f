// score = a whole number from 0 to 100, drawn for each slot
//
// Cost: one draw a slot. Misleads: knows neither load nor caches.
#pragma once

#include "pick/plugin.h"

namespace fairlead::pick {

class RandomScorer final : public Scorer {
 public:
  std::string_view name() const override { return "random"; }
  void score(const Context& context, std::span<const Slot> slots, Scores& scores) const override;
};

}  // namespace fairlead::pick
