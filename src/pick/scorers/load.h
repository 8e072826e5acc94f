// score = requests of this router in flight at the replica
//       + requests that the replica had at its last scrape beyond those (from other routers)
//
// Cost: two reads a slot.
// Misleads: a request counts as one however long its prompt and answer are; what others send is
// known only as of the last scrape, and not at all where the engine has no /metrics.
#pragma once

#include "pick/plugin.h"

namespace fairlead::pick {

class LoadScorer final : public Scorer {
 public:
  std::string_view name() const override { return "load"; }
  void score(const Context& context, std::span<const Slot> slots, Scores& scores) const override;
};

}  // namespace fairlead::pick
