// Of two candidates drawn at random the one with less load; of equals the one that was given fewer
// prompt tokens so far; of those any.
//
// Why not always the least loaded: where loads are known late, as among many routers, all send to
// the same replica; two draws keep nearly all of the balance and none of the herd.
//
// Cost: two draws and two scores, however many replicas there are.
// Misleads: where `load` does.
#pragma once

#include "pick/plugin.h"

namespace fairlead::pick {

class PowerOfTwoPicker final : public Picker {
 public:
  std::string_view name() const override { return "power-of-two"; }
  std::span<const std::string_view> scorers() const override;
  Pick pick(const Context& context) const override;
  bool prefers(const Context& context, Slot a, Slot b) const override;
};

}  // namespace fairlead::pick
