// Keeps the replicas that are ready; if none is, those that are merely suspect or ejected. Replicas
// that are down never pass.
//
// Cost: one comparison while all replicas are ready, else one byte read a candidate.
// Misleads: suspicion is slow to arise (seconds), so a replica that just died passes until then;
// the request moves on by way of its retry.
//
// Panic rule: suspicion alone never leaves a request without a replica, for what makes all replicas
// suspect at once is more often this router or its network than all of them. Rejected: to ignore
// suspicion already when less than half are ready (as some proxies do), which sends requests to
// hung replicas while good ones are there. Of ejections too many at once are ignored before they
// come here (router/outliers.h).
#pragma once

#include "pick/plugin.h"

namespace fairlead::pick {

class HealthFilter final : public Filter {
 public:
  std::string_view name() const override { return "health"; }
  void apply(const Context& context) const override;
  std::string_view why(const Context& context, Slot slot) const override;
};

}  // namespace fairlead::pick
