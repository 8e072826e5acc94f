#include "pick/pickers/expected_ttft.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace fairlead::pick {
namespace {

constexpr std::array<std::string_view, 2> kExpectedTtftScorers{"prefix", "expected-ttft"};
constexpr size_t kPrefixScore = 0;
constexpr size_t kTtftScore = 1;

bool has(std::span<const Slot> slots, Slot slot) {
  return std::find(slots.begin(), slots.end(), slot) != slots.end();
}

// A sample of the candidates; returns how many.
size_t draw_sample(const Context& context) {
  const std::vector<Slot>& candidates = context.scratch.candidates;
  std::vector<Slot>& shortlist = context.scratch.shortlist;
  if (candidates.size() <= ExpectedTtftPicker::kSample) {
    shortlist.assign(candidates.begin(), candidates.end());
    return shortlist.size();
  }
  shortlist.clear();
  while (shortlist.size() < ExpectedTtftPicker::kSample) {
    const Slot slot = candidates[context.random.below(candidates.size())];
    if (has(shortlist, slot)) continue;
    shortlist.push_back(slot);
    // Of many replicas most are cold: they arrive while the prefix is looked up.
    context.columns.prefetch(slot);
    __builtin_prefetch(&context.scratch.expected[slot], 1);
  }
  return ExpectedTtftPicker::kSample;
}

// Appends those of the holders that the sample lacks. Who holds less than half of what another does
// is no better than the sample.
void nominate_holders(const Context& context, size_t sample) {
  const std::vector<Slot>& candidates = context.scratch.candidates;
  std::vector<Slot>& shortlist = context.scratch.shortlist;
  if (candidates.size() == sample) return;
  const cache_index::Depths& depths = context.scratch.depths;
  uint16_t deepest = 0;
  for (const Slot slot : depths.holders()) deepest = std::max(deepest, depths.of(slot));
  for (const Slot slot : depths.holders()) {
    if (depths.of(slot) < deepest / 2 || has(std::span(shortlist).first(sample), slot)) continue;
    if (std::binary_search(candidates.begin(), candidates.end(), slot)) shortlist.push_back(slot);
  }
}

base::Result<> check(std::string_view what, double value, double min, double max) {
  if (value >= min && value <= max) return {};
  return base::invalid_argument(
      fmt::format("{} is {}, allowed are {} to {}", what, value, min, max));
}

}  // namespace

base::Result<> ExpectedTtftOptions::validate() const {
  if (auto ok = check("miss price", miss_price, 0, kPriceMax); !ok) return ok;
  if (auto ok = check("decode price", decode_price, 0, kPriceMax); !ok) return ok;
  if (auto ok = check("load factor", load_factor, kLoadFactorMin, kLoadFactorMax); !ok) return ok;
  return check("slack", slack_requests, kSlackRequestsMin, kSlackRequestsMax);
}

ExpectedTtftPicker::ExpectedTtftPicker(ExpectedTtftOptions options)
    : miss_price_(static_cast<float>(options.miss_price)),
      decode_price_(static_cast<float>(options.decode_price)),
      load_factor_(static_cast<float>(options.load_factor)),
      slack_requests_(static_cast<float>(options.slack_requests)) {
  CHECK(options.validate().ok(), "expected-ttft options were not validated");
}

std::span<const std::string_view> ExpectedTtftPicker::scorers() const {
  return kExpectedTtftScorers;
}

Pick ExpectedTtftPicker::pick(const Context& context) const {
  Scratch& scratch = context.scratch;
  const std::vector<Slot>& shortlist = scratch.shortlist;
  const std::vector<Expected>& expected = scratch.expected;
  const size_t sample = draw_sample(context);
  context.score(kPrefixScore, scratch.candidates);
  nominate_holders(context, sample);
  context.score(kTtftScore, shortlist);

  float mean = 0;
  for (size_t i = 0; i < sample; ++i) mean += expected[shortlist[i]].load.context;
  mean /= static_cast<float>(sample);
  const auto prompt = static_cast<float>(std::max(1U, context.query.prompt_tokens));
  const float bound = load_factor_ * (mean + slack_requests_ * prompt);

  uint32_t held_most = 0;
  for (const Slot slot : shortlist) held_most = std::max(held_most, expected[slot].held_tokens);
  const auto holders = std::count_if(shortlist.begin(), shortlist.end(), [&](Slot slot) {
    return expected[slot].held_tokens == held_most;
  });
  const float miss_price = miss_price_ / static_cast<float>(holders);

  // The least loaded of the sample is below the mean, so one is always allowed.
  const auto cost = [&](Slot slot) {
    const Expected& e = expected[slot];
    return e.ms + miss_price * e.prompt_ms + decode_price_ * e.context_ms;
  };
  float least = std::numeric_limits<float>::infinity();
  for (const Slot slot : shortlist) {
    if (expected[slot].load.context <= bound) least = std::min(least, cost(slot));
  }
  const float tied = least + std::max(kTieMs, least * kTieShare);
  const Slot* best = nullptr;
  uint64_t best_computed = 0;
  for (const Slot& slot : shortlist) {
    if (expected[slot].load.context > bound || cost(slot) > tied) continue;
    const uint64_t computed = context.columns.ttft_model(slot).computed();
    if (best == nullptr || computed < best_computed ||
        (computed == best_computed && slot < *best)) {
      best = &slot;
      best_computed = computed;
    }
  }
  CHECK(best != nullptr, "every candidate is above the mean");
  if (held_most == 0) return {*best, Reason::kPrefixCold};
  return {*best,
          expected[*best].held_tokens == held_most ? Reason::kHoldsPrefix : Reason::kHolderTooBusy};
}

bool ExpectedTtftPicker::prefers(const Context& context, Slot a, Slot b) const {
  const Scores& ttft = context.scratch.scores[kTtftScore];
  return ttft[a] < ttft[b];
}

}  // namespace fairlead::pick
