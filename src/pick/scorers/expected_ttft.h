// score = milliseconds to the first token that are predicted for the request at the replica
//
//   line(queued + uncached tokens of the prompt, tokens in flight)      see ttft_model.h
//
// What others send there, as far as scraping tells, counts with the size of our own requests, and
// less the older the sample. A replica of which little or nothing recent is known is taken to be
// like the mean of those scored with it, and so is one that differs from it by noise only. Also
// leaves in scratch.expected what it went by.
//
// Needs the prefix scorer before it. Cost: three cache lines a slot; score a shortlist.
// Misleads: with answers that are not streamed (their first byte comes with their last, so their
// prompts count as queued until then); where an engine evicts or shares prompts in a way that
// `trust` averages out.
#pragma once

#include "pick/plugin.h"

namespace fairlead::pick {

class ExpectedTtftScorer final : public Scorer {
 public:
  // A scraped sample of this age counts for nothing.
  static constexpr base::Nanos kScrapeAgeMax = std::chrono::seconds(10);

  std::string_view name() const override { return "expected-ttft"; }
  void score(const Context& context, std::span<const Slot> slots, Scores& scores) const override;
};

}  // namespace fairlead::pick
