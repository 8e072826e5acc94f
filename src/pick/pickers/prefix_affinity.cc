#include "pick/pickers/prefix_affinity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "pick/pickers/least_load.h"

namespace fairlead::pick {
namespace {

constexpr std::array<std::string_view, 2> kPrefixAffinityScorers{"load", "prefix"};
constexpr size_t kLoad = 0;
constexpr size_t kPrefix = 1;

// The one thing here that grows with the number of replicas while holders are there.
float mean_load(const Context& context) {
  const std::vector<Slot>& slots = context.scratch.candidates;
  uint64_t sum = 0;
  for (const Slot slot : slots) sum += context.columns.load(slot);
  return static_cast<float>(sum) / static_cast<float>(slots.size());
}

}  // namespace

base::Result<> PrefixAffinityOptions::validate() const {
  if (!(load_factor >= kLoadFactorMin && load_factor <= kLoadFactorMax)) {
    return base::invalid_argument(fmt::format("load factor is {}, allowed are {} to {}",
                                              load_factor, kLoadFactorMin, kLoadFactorMax));
  }
  if (!(share_min >= 0 && share_min <= 1)) {
    return base::invalid_argument(
        fmt::format("smallest prefix share is {}, allowed are 0 to 1", share_min));
  }
  return {};
}

PrefixAffinityPicker::PrefixAffinityPicker(PrefixAffinityOptions options)
    : load_factor_(static_cast<float>(options.load_factor)),
      share_min_(static_cast<float>(options.share_min)) {
  CHECK(options.validate().ok(), "prefix affinity options were not validated");
}

std::span<const std::string_view> PrefixAffinityPicker::scorers() const {
  return kPrefixAffinityScorers;
}

Pick PrefixAffinityPicker::pick(const Context& context) const {
  Scratch& scratch = context.scratch;
  const std::vector<Slot>& candidates = scratch.candidates;
  const Scores& load = scratch.scores[kLoad];
  const Scores& share = scratch.scores[kPrefix];

  context.score(kPrefix, candidates);
  std::vector<Slot>& holders = scratch.shortlist;
  holders.clear();
  for (const Slot slot : scratch.depths.holders()) {
    if (share[slot] < share_min_) continue;
    if (std::binary_search(candidates.begin(), candidates.end(), slot)) holders.push_back(slot);
  }
  const bool held = !holders.empty();
  if (held) {
    context.score(kLoad, holders);
    const float bound = load_factor_ * (mean_load(context) + 1);
    std::erase_if(holders, [&](Slot slot) { return load[slot] >= bound; });
  }
  if (holders.empty()) {
    context.score(kLoad, candidates);
    return {least_loaded(context, candidates, load),
            held ? Reason::kHolderTooBusy : Reason::kPrefixCold};
  }
  float best = 0;
  for (const Slot slot : holders) best = std::max(best, share[slot]);
  std::erase_if(holders, [&](Slot slot) { return share[slot] < best; });
  return {least_loaded(context, holders, load), Reason::kHoldsPrefix};
}

bool PrefixAffinityPicker::prefers(const Context& context, Slot a, Slot b) const {
  const Scores& load = context.scratch.scores[kLoad];
  const Scores& share = context.scratch.scores[kPrefix];
  if (share[a] != share[b]) return share[a] > share[b];
  return load[a] < load[b];
}

}  // namespace fairlead::pick
