// The replica that is expected to give the request its first token soonest, all told.
//
//   cost =   predicted ms to the first token
//          + miss_price / holders * ms that computing its uncached prompt takes
//          + decode_price * ms that the context in flight adds to a step
//   allowed: tokens in flight <= load_factor * (mean of the sample + slack_requests * the prompt's)
//
// Among the holders of at least half of what any holds, and a constant sample of the other
// candidates, the allowed one of least cost; of those within kTieShare of it, the one that was
// given fewest tokens to compute so far, then the one of the lowest slot: nothing is drawn but the
// sample. `holders` are those that hold as much of the prompt as any.
//
// Why one unit: queue, uncached prefill and decode load all end up in the time to the first token,
// so no weights are to be found between "holds the prefix" and "is busy" (prefix_affinity.h says
// what goes wrong with those).
//
// Why more than the request's own time: by that alone every request leaves its holder for a wait
// shorter than its prefill, and others pay for it. Who computes a prompt takes the device from all
// who come meanwhile, at utilisation u from u/(1-u) of them, two at 67 %; and its blocks take the
// place of others, which somebody computes again. So a miss is charged twice beside its own time,
// which keeps the caches together nearly as large as they are, each with a part of the prefixes.
// Less the more copies there are, for a prefix with copies is hot and the next one serves more
// requests than it costs. And decoding slows a first token by one step but the rest of the answer
// by all of its own: of those steps ten are charged, or a replica that holds nothing stays idle
// beside busy ones that do.
//
// Why a bound besides: an engine whose load cannot be seen in its first tokens (nothing learned
// yet, answers that are not streamed) must not be drowned by a hot prefix either. It is in tokens
// in flight, because requests are not alike. It is wide, because a bound near the mean splits
// prefixes by chance alone: of 24 requests at random over four replicas one has ten every so often.
// Why the fewest computed tokens break ties: on an idle fleet all costs are equal, and that spreads
// the prefixes by what they take of the caches.
//
// Cost: one lookup; the rest does not grow with the number of replicas.
// Misleads: where its scorer does. Nobody knows how long an answer will be, so decode load is known
// by its prompts only. What engines evicted is not known either, but by the share of hits that they
// report (ttft_model.h).
#pragma once

#include "base/result.h"
#include "pick/plugin.h"

namespace fairlead::pick {

struct ExpectedTtftOptions {
  double miss_price = 2;
  double decode_price = 10;
  double load_factor = 2;
  double slack_requests = 8;

  static constexpr double kPriceMax = 100;
  static constexpr double kLoadFactorMin = 1;
  static constexpr double kLoadFactorMax = 100;
  static constexpr double kSlackRequestsMin = 1;
  static constexpr double kSlackRequestsMax = 1000;

  base::Result<> validate() const;
};

class ExpectedTtftPicker final : public Picker {
 public:
  static constexpr size_t kSample = 8;
  static constexpr float kTieShare = 0.02F;
  static constexpr float kTieMs = 0.5F;

  // CHECKs options.validate().
  explicit ExpectedTtftPicker(ExpectedTtftOptions options);

  std::string_view name() const override { return "expected-ttft"; }
  std::span<const std::string_view> scorers() const override;
  Pick pick(const Context& context) const override;
  bool prefers(const Context& context, Slot a, Slot b) const override;

 private:
  float miss_price_;
  float decode_price_;
  float load_factor_;
  float slack_requests_;
};

}  // namespace fairlead::pick
