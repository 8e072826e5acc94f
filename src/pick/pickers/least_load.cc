#include "pick/pickers/least_load.h"

#include <algorithm>
#include <array>

namespace fairlead::pick {
namespace {

constexpr std::array<std::string_view, 1> kLeastLoadScorers{"load"};

}  // namespace

Slot least_loaded(const Context& context, std::span<const Slot> slots, const Scores& load) {
  Slot best = slots[0];
  uint64_t best_given = context.columns.prompt_tokens_given(best);
  size_t equals = 1;
  for (const Slot slot : slots.subspan(1)) {
    if (load[slot] > load[best]) continue;
    const uint64_t given = context.columns.prompt_tokens_given(slot);
    if (load[slot] == load[best]) {
      if (given > best_given) continue;
      if (given == best_given) {
        ++equals;
        continue;
      }
    }
    best = slot;
    best_given = given;
    equals = 1;
  }
  if (equals == 1) return best;
  uint64_t skip = context.random.below(equals);
  for (const Slot slot : slots) {
    const bool equal =
        load[slot] == load[best] && context.columns.prompt_tokens_given(slot) == best_given;
    if (equal && skip-- == 0) return slot;
  }
  return best;  // another shard has given to one of the equals meanwhile
}

std::span<const std::string_view> LeastLoadPicker::scorers() const { return kLeastLoadScorers; }

Pick LeastLoadPicker::pick(const Context& context) const {
  const Scratch& scratch = context.scratch;
  context.score(0, scratch.candidates);
  return {least_loaded(context, scratch.candidates, scratch.scores[0]), Reason::kLeastLoaded};
}

bool LeastLoadPicker::prefers(const Context& context, Slot a, Slot b) const {
  const Scores& load = context.scratch.scores[0];
  return load[a] < load[b];
}

}  // namespace fairlead::pick
