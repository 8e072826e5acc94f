// Takes the replicas of a model in turn; all shards share the turn.
//
// Cost: one atomic add a request.
// Misleads: knows neither load nor caches. When the set of candidates changes, the turn jumps.
#pragma once

#include "pick/plugin.h"

namespace fairlead::pick {

class RoundRobinPicker final : public Picker {
 public:
  std::string_view name() const override { return "round-robin"; }
  std::span<const std::string_view> scorers() const override { return {}; }
  Pick pick(const Context& context) const override;
  bool prefers(const Context&, Slot a, Slot b) const override { return a < b; }
};

}  // namespace fairlead::pick
