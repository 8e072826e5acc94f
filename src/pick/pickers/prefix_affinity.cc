#include "pick/pickers/prefix_affinity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "pick/pickers/least_load.h"

namespace fairlead::pick {
namespace {

constexpr std::array<std::string_view, 2> kScorers{"load", "prefix"};
constexpr size_t kLoad = 0;
constexpr size_t kPrefix = 1;

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

std::span<const std::string_view> PrefixAffinityPicker::scorers() const { return kScorers; }

Pick PrefixAffinityPicker::pick(const Context& context) const {
  Scratch& scratch = context.scratch;
  const Scores& load = scratch.scores[kLoad];
  const Scores& share = scratch.scores[kPrefix];
  std::vector<Slot>& holders = scratch.shortlist;
  holders.clear();
  uint64_t sum = 0;  // loads are whole numbers; float sums would not overlap in the processor
  for (const Slot slot : scratch.candidates) {
    sum += static_cast<uint64_t>(static_cast<int64_t>(load[slot]));
    if (share[slot] >= share_min_ && share[slot] > 0) holders.push_back(slot);
  }
  const float mean = static_cast<float>(sum) / static_cast<float>(scratch.candidates.size());
  const float bound = load_factor_ * (mean + 1);

  const bool held = !holders.empty();
  std::erase_if(holders, [&](Slot slot) { return load[slot] >= bound; });
  if (holders.empty()) {
    return {least_loaded(context, scratch.candidates, load),
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
