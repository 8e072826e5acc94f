#include "pick/scorers/expected_ttft.h"

#include <algorithm>
#include <cmath>

namespace fairlead::pick {
namespace {

// How far a replica's prediction may be from that of its peers' line before it counts as different.
constexpr float kNoiseShare = 0.2F;

// In tokens, what other routers have there.
TtftLoad foreign(const Context& context, Slot slot) {
  const Columns& columns = context.columns;
  const uint32_t requests = columns.foreign(slot);
  if (requests == 0) return {};
  const Scraped scraped = columns.scraped(slot);
  const base::Nanos age = context.query.now - scraped.at;
  constexpr base::Nanos kAgeMax = ExpectedTtftScorer::kScrapeAgeMax;
  if (age >= kAgeMax) return {};
  const double left =
      base::to_seconds(kAgeMax - std::max(age, base::Nanos(0))) / base::to_seconds(kAgeMax);
  const uint32_t ours = columns.in_flight(slot);
  const double tokens =
      left * (ours == 0 ? context.query.prompt_tokens
                        : static_cast<double>(columns.ttft_model(slot).context()) / ours);
  return {.work = static_cast<float>(tokens * std::min(requests, scraped.waiting)),
          .context = static_cast<float>(tokens * requests)};
}

// What is common to all, each weighted by how well it is known.
struct Mean {
  TtftLine line;
  float weight = 0;

  void add(const TtftLine& other, float confidence) {
    if (confidence <= 0) return;
    weight += confidence;
    const float share = confidence / weight;
    line.base_ms += share * (other.base_ms - line.base_ms);
    line.work_ms += share * (other.work_ms - line.work_ms);
    line.context_ms += share * (other.context_ms - line.context_ms);
  }
};

// Equal replicas are fitted a little differently all the time, and the one whose line happens to be
// lowest would get all there is; so only what is beyond the noise counts.
float ms_of(const TtftModel& model, const TtftLine& common, const TtftLoad& load,
            base::TimePoint now) {
  const float peers = common.ms(load);
  const float apart = model.line().ms(load) - peers;
  const float beyond = std::max(0.0F, std::abs(apart) - kNoiseShare * peers);
  return peers + std::copysign(beyond, apart) * model.confidence(now);
}

}  // namespace

void ExpectedTtftScorer::score(const Context& context, std::span<const Slot> slots,
                               Scores& scores) const {
  const Query& query = context.query;
  Scratch& scratch = context.scratch;
  const auto hashed =
      static_cast<uint32_t>(cache_index::PrefixIndex::depth_kept(query.blocks.size())) *
      query.block_tokens;
  Mean mean;
  for (const Slot slot : slots) {
    const TtftModel& model = context.columns.ttft_model(slot);
    mean.add(model.line(), model.confidence(query.now));
  }
  for (const Slot slot : slots) {
    const TtftModel& model = context.columns.ttft_model(slot);
    Expected& expected = scratch.expected[slot];
    expected.hashed_tokens = hashed;
    expected.held_tokens = scratch.depths.of(slot) * query.block_tokens;
    const uint32_t cached = model.cached_tokens(query.prompt_tokens, hashed, expected.held_tokens);
    // An engine computes at least the last token.
    expected.uncached_tokens =
        std::max(1U, query.prompt_tokens - std::min(cached, query.prompt_tokens));
    const TtftLoad others = foreign(context, slot);
    expected.load = {.work = static_cast<float>(model.queued()) + others.work +
                             static_cast<float>(expected.uncached_tokens),
                     .context = static_cast<float>(model.context()) + others.context};
    expected.ms = ms_of(model, mean.line, expected.load, query.now);
    const float pace = expected.ms / mean.line.ms(expected.load);
    expected.prompt_ms =
        pace * mean.line.work_ms * 1e-3F * static_cast<float>(expected.uncached_tokens);
    expected.context_ms = pace * mean.line.context_ms * 1e-3F * expected.load.context;
    scores[slot] = expected.ms;
  }
}

}  // namespace fairlead::pick
