#include "pick/scorers/prefix_cache.h"

#include <algorithm>

#include "pick/whole.h"

namespace fairlead::pick {

uint16_t PrefixCacheScorer::depth_min(Scratch& scratch) const {
  const cache_index::Depths& depths = scratch.depths;
  const std::span<const Slot> holders = depths.holders();
  if (holders.size() <= options_.holders_max) return 0;
  std::vector<Slot>& order = scratch.shortlist;
  order.assign(holders.begin(), holders.end());
  const auto last = order.begin() + static_cast<ptrdiff_t>(options_.holders_max) - 1;
  std::nth_element(order.begin(), last, order.end(),
                   [&](Slot a, Slot b) { return depths.of(a) > depths.of(b); });
  return depths.of(*last);
}

void PrefixCacheScorer::score(const Context& context, std::span<const Slot> slots,
                              Scores& scores) const {
  Scratch& scratch = context.scratch;
  const std::span<const uint64_t> blocks = context.query.blocks;
  context.index.lookup(blocks, scratch.depths);
  for (const Slot slot : slots) scores[slot] = 0;
  if (blocks.empty()) return;
  const uint16_t least = depth_min(scratch);
  for (const Slot slot : scratch.depths.holders()) {
    const uint16_t depth = scratch.depths.of(slot);
    if (depth < least) continue;
    scores[slot] = static_cast<float>(whole(100.0 * depth / static_cast<double>(blocks.size())));
  }
}

}  // namespace fairlead::pick
