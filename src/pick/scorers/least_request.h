// score = floor(100 * (base_max - base) / base_max), 100 where base_max is 0
//   base = n + 100 * max(n - running, 0)
//   n    = requests at the replica, of this router and of others (`load`)
//
// From 0 for the candidate with most to do to 100 for an idle one. Requests that the engine does
// not run yet wait, and one that waits counts as much as a hundred that run.
//
// Cost: three reads a slot, and a second pass over the scores.
// Misleads: `running` is as old as the last scrape, so requests sent since count as waiting; that
// spreads bursts and is meant. The worst candidate scores 0 however little it has to do. Without a
// fresh sample nothing is known to wait: base = n. Counting what others send, too, differs from the
// formula's origin, where routers share their counts through a database.
#pragma once

#include "pick/plugin.h"

namespace fairlead::pick {

class LeastRequestScorer final : public Scorer {
 public:
  std::string_view name() const override { return "least-request"; }
  void score(const Context& context, std::span<const Slot> slots, Scores& scores) const override;
};

}  // namespace fairlead::pick
