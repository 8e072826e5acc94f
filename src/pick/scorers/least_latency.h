// score = floor(a * T + (1 - a) * P), a = ttft_share
//   T = 100 * (ttft_max - ttft) / (ttft_max - ttft_min), 100 where all are equal; P likewise of
//   tpot
//
// From the time to first token and the time an output token that the engine measured in the scrape
// interval before; extremes are those of the replicas that have measured. A replica without a fresh
// measurement scores 50.
//
// Cost: three reads a slot, three passes.
// Misleads: differences are stretched to the whole scale however small they are, and TTFT depends
// on the prompts that a replica was given, so one that got the long ones looks slow. Rejected:
// keeping the last measurement of a replica that has become idle, as the formula's origin does: a
// replica that was slow once would never be asked again.
#pragma once

#include "base/result.h"
#include "pick/plugin.h"

namespace fairlead::pick {

struct LeastLatencyOptions {
  double ttft_share = 0.5;

  base::Result<> validate() const;
};

class LeastLatencyScorer final : public Scorer {
 public:
  // CHECKs options.validate().
  explicit LeastLatencyScorer(LeastLatencyOptions options);

  std::string_view name() const override { return "least-latency"; }
  void score(const Context& context, std::span<const Slot> slots, Scores& scores) const override;

 private:
  double ttft_share_;
};

}  // namespace fairlead::pick
