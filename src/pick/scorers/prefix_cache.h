// score = floor(100 * leading blocks of the prompt that the replica was given before / blocks)
//
// For the `holders_max` replicas that hold most of it (and those that hold as much as the last of
// them); others, and all where the prompt has no whole block, score 0. The `prefix` scorer in whole
// percent: the scale of the scorers that are summed with weights.
//
// Cost: one lookup, two passes over the holders and one over the candidates.
// Misleads: where `prefix` does.
#pragma once

#include <cstdint>

#include "pick/plugin.h"

namespace fairlead::pick {

struct PrefixCacheOptions {
  uint32_t holders_max = 5;
};

class PrefixCacheScorer final : public Scorer {
 public:
  explicit PrefixCacheScorer(PrefixCacheOptions options) : options_(options) {}

  std::string_view name() const override { return "prefix-cache"; }
  void score(const Context& context, std::span<const Slot> slots, Scores& scores) const override;

 private:
  // The depth that the `holders_max` deepest holders have at least.
  uint16_t depth_min(Scratch& scratch) const;

  PrefixCacheOptions options_;
};

}  // namespace fairlead::pick
