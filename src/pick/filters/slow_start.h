// Holds back replicas that come back, each to its share of the usual work.
//
// With share s a replica passes with probability s, and only while it has no more in flight than s
// times the mean of the replicas with a whole share (and one more). With share 0 it is on trial: it
// passes while fewer than kTrialsMax are in flight there. Where no candidate has a whole share all
// pass: there is nobody to leave the rest to.
//
// Two bounds, because neither does it alone for every picker: the draw keeps pickers that take
// turns to the share, the bound on what is in flight those that send everything to the idlest.
//
// Cost: one comparison while no replica comes back; else two reads a candidate, one more and
// perhaps a draw for each that does. Misleads: long requests that are spread thinly (less than one
// a replica) are bounded by the draw alone, so a picker that looks for the idlest gives it more
// than its share of them. It is idle.
#pragma once

#include "pick/plugin.h"

namespace fairlead::pick {

class SlowStartFilter final : public Filter {
 public:
  static constexpr uint32_t kTrialsMax = 3;

  std::string_view name() const override { return "slow-start"; }
  void apply(const Context& context) const override;
  std::string_view why(const Context& context, Slot slot) const override;
};

}  // namespace fairlead::pick
