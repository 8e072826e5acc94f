#include "pick/scorers/prefix.h"

namespace fairlead::pick {

void PrefixScorer::score(const Context& context, std::span<const Slot>, Scores& scores) const {
  const std::span<const uint64_t> blocks = context.query.blocks;
  cache_index::Depths& depths = context.scratch.depths;
  // The column is this scorer's own: only the holders of the last prompt are not zero.
  for (const Slot slot : depths.holders()) scores[slot] = 0;
  context.index.lookup(blocks, depths);
  if (blocks.empty()) return;
  const float block_share = 1.0F / static_cast<float>(blocks.size());
  for (const Slot slot : depths.holders()) {
    scores[slot] = static_cast<float>(depths.of(slot)) * block_share;
  }
}

}  // namespace fairlead::pick
