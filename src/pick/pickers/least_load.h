// The candidate with the least load; of equals the one that was given fewer prompt tokens so far;
// of those any, drawn with the seed.
//
// Cost: one pass over the candidates, two if several are equal in both.
// Misleads: where `load` does.
#pragma once

#include "pick/plugin.h"

namespace fairlead::pick {

class LeastLoadPicker final : public Picker {
 public:
  std::string_view name() const override { return "least-load"; }
  std::span<const std::string_view> scorers() const override;
  Pick pick(const Context& context) const override;
  bool prefers(const Context& context, Slot a, Slot b) const override;
};

// The least loaded of `slots` (not empty) by a column of loads; also what other pickers fall back
// to.
Slot least_loaded(const Context& context, std::span<const Slot> slots, const Scores& load);

}  // namespace fairlead::pick
