// Removes the replicas where this request has failed already, so that a retry goes elsewhere.
//
// Cost: nothing for a first attempt; attempts are few, so a retry compares each candidate with
// them. Misleads: with one replica there is nowhere else to go, and the request fails although a
// second try at the same replica might have worked. A reset of an idle connection is no attempt and
// never comes here.
#pragma once

#include "pick/plugin.h"

namespace fairlead::pick {

class TriedFilter final : public Filter {
 public:
  std::string_view name() const override { return "tried"; }
  void apply(const Context& context) const override;
  std::string_view why(const Context& context, Slot slot) const override;
};

}  // namespace fairlead::pick
