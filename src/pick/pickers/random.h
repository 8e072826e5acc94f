// Any candidate, each as likely as the others.
//
// Cost: one draw. Misleads: knows neither load nor caches.
#pragma once

#include "pick/plugin.h"

namespace fairlead::pick {

class RandomPicker final : public Picker {
 public:
  std::string_view name() const override { return "random"; }
  std::span<const std::string_view> scorers() const override { return {}; }
  Pick pick(const Context& context) const override;
  bool prefers(const Context&, Slot a, Slot b) const override { return a < b; }
};

}  // namespace fairlead::pick
