// score = leading blocks of the prompt that the replica was given before / blocks of the prompt
//
// Between 0 and 1, for all slots at once. Also leaves the depths in the scratch.
//
// Cost: one lookup (about ten words' lines of the index), one write a holder.
// Misleads: only the first `blocks_max` blocks are known, so of a longer prompt the share is that
// of its beginning; the replica may have evicted what it was given.
#pragma once

#include "pick/plugin.h"

namespace fairlead::pick {

class PrefixScorer final : public Scorer {
 public:
  std::string_view name() const override { return "prefix"; }
  void score(const Context& context, std::span<const Slot> slots, Scores& scores) const override;
};

}  // namespace fairlead::pick
