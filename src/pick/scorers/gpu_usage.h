// score = floor(100 * (1 - share of the engine's KV cache in use, as scraped))
//
// Cost: two reads a slot.
// Misleads: it is as old as the last scrape, and all requests until the next one go to the same
// replica where this scorer decides alone; a cache full of reusable prefixes may be reported as
// free, and a full one is no sign of a queue. Where the sample is stale while requests are there,
// nothing is known: 50. Of an idle replica it stays true.
#pragma once

#include "pick/plugin.h"

namespace fairlead::pick {

class GpuUsageScorer final : public Scorer {
 public:
  std::string_view name() const override { return "gpu-usage"; }
  void score(const Context& context, std::span<const Slot> slots, Scores& scores) const override;
};

}  // namespace fairlead::pick
