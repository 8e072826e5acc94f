// Keeps the replicas where fewer than `waiting_max` requests wait in the engine's own queue.
//
// Cost: two reads a candidate.
// Misleads: the queue is as long as it was at the last scrape, so it neither sees a burst since nor
// a queue that has emptied since; a `load` column does. A replica whose sample is stale, or which
// has no metrics, passes: what is not known is no reason to refuse. If no candidate passes there is
// no pick and the client is told to come again, which is what a bound on queues is for.
#pragma once

#include <cstdint>

#include "pick/plugin.h"

namespace fairlead::pick {

struct LeastRequestOptions {
  uint32_t waiting_max = 10;
};

class LeastRequestFilter final : public Filter {
 public:
  explicit LeastRequestFilter(LeastRequestOptions options) : options_(options) {}

  std::string_view name() const override { return "least-request"; }
  void apply(const Context& context) const override;
  std::string_view why(const Context& context, Slot slot) const override;

 private:
  LeastRequestOptions options_;
};

}  // namespace fairlead::pick
