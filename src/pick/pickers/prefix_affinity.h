// A replica that holds the prompt's prefix, unless it is too busy; else the least loaded one.
//
//   holder:  prefix share >= share_min
//   allowed: load < load_factor * (mean load of the candidates + 1)
//
// Of the allowed holders the one with the largest share; of equals the less loaded, then the one
// given fewer prompt tokens so far. If there is none: the least loaded candidate by the same order.
//
// Why a bound and not a sum of scores: in a weighted sum the value of a hit is paid in load units,
// and no weight is right for both short and long prompts: peers that sum either drown the owner of
// a hot prefix or scatter prompts that nobody else has. With a bound the owner keeps everything it
// can serve at no more than load_factor times its fair share, and the surplus goes to the least
// loaded replica, which holds the prefix from then on and shares its load evenly with the first: a
// prefix spreads to as many replicas as it needs, one at a time, and loads no longer move its
// owners. Why share_min: prompts that have only a common system prompt are different prefixes.
// Without it the first replica would be the holder of all of them, until it is too busy. Rejected
// besides: consistent hashing (moves prefixes when the set of replicas changes, and never learns
// where a prefix really went); load in tokens (the engine batches requests, and a resent long
// prompt costs its holder nothing).
//
// Cost: one lookup and one sum over the candidates; if no holder is allowed, a pass for the least
// loaded.
// Misleads: where `load` and `prefix` do. Under low load the bound is reached with two requests, so
// siblings sent together may spread although one replica could batch them.
#pragma once

#include "base/result.h"
#include "pick/plugin.h"

namespace fairlead::pick {

struct PrefixAffinityOptions {
  double load_factor = 1.25;
  double share_min = 0.3;

  static constexpr double kLoadFactorMin = 1.0;
  static constexpr double kLoadFactorMax = 100.0;

  base::Result<> validate() const;
};

class PrefixAffinityPicker final : public Picker {
 public:
  // CHECKs options.validate().
  explicit PrefixAffinityPicker(PrefixAffinityOptions options);

  std::string_view name() const override { return "prefix-affinity"; }
  std::span<const std::string_view> scorers() const override;
  Pick pick(const Context& context) const override;
  bool prefers(const Context& context, Slot a, Slot b) const override;

 private:
  float load_factor_;
  float share_min_;
};

}  // namespace fairlead::pick
