#include "pick/pickers/power_of_two.h"

#include <array>

#include "pick/pickers/least_load.h"

namespace fairlead::pick {
namespace {

constexpr std::array<std::string_view, 1> kPowerOfTwoScorers{"load"};

}  // namespace

std::span<const std::string_view> PowerOfTwoPicker::scorers() const { return kPowerOfTwoScorers; }

Pick PowerOfTwoPicker::pick(const Context& context) const {
  const std::vector<Slot>& candidates = context.scratch.candidates;
  const uint64_t first = context.random.below(candidates.size());
  std::array<Slot, 2> drawn{candidates[first], candidates[first]};
  if (candidates.size() > 1) {
    const uint64_t second = context.random.below(candidates.size() - 1);
    drawn[1] = candidates[second + (second >= first ? 1 : 0)];
  }
  context.score(0, drawn);
  return {least_loaded(context, drawn, context.scratch.scores[0]), Reason::kLessLoadedOfTwo};
}

bool PowerOfTwoPicker::prefers(const Context& context, Slot a, Slot b) const {
  const Scores& load = context.scratch.scores[0];
  return load[a] < load[b];
}

}  // namespace fairlead::pick
