#include "pick/pickers/weighted.h"

#include <array>
#include <limits>
#include <utility>

#include "base/check.h"
#include "pick/pickers/least_load.h"

namespace fairlead::pick {

WeightedPicker::WeightedPicker(std::vector<WeightedScore> scores) : scores_(std::move(scores)) {
  CHECK(scores_.size() < kScorersMax, "more scorers than columns");
  for (const WeightedScore& score : scores_) names_.push_back(score.scorer);
  names_.push_back("load");
}

double WeightedPicker::sum(const Scratch& scratch, Slot slot) const {
  double sum = 0;
  for (size_t i = 0; i < scores_.size(); ++i) {
    sum += scores_[i].weight * static_cast<double>(scratch.scores[i][slot]);
  }
  return sum;
}

// The compiler knows how many scores there are, and so needs no loop for a sum.
template <size_t kCount>
void WeightedPicker::find_best(Scratch& scratch) const {
  std::array<const float*, kCount> columns;
  std::array<double, kCount> weights;
  for (size_t i = 0; i < kCount; ++i) {
    columns[i] = scratch.scores[i].data();
    weights[i] = scores_[i].weight;
  }
  std::vector<Slot>& best = scratch.shortlist;
  best.clear();
  double most = -std::numeric_limits<double>::infinity();
  for (const Slot slot : scratch.candidates) {
    double total = 0;
    for (size_t i = 0; i < kCount; ++i) {
      total += weights[i] * static_cast<double>(columns[i][slot]);
    }
    if (total < most) continue;
    if (total > most) best.clear();
    most = total;
    best.push_back(slot);
  }
}

Pick WeightedPicker::pick(const Context& context) const {
  Scratch& scratch = context.scratch;
  const std::vector<Slot>& best = scratch.shortlist;
  for (size_t i = 0; i < scores_.size(); ++i) context.score(i, scratch.candidates);
  constexpr auto kFindBest = []<size_t... kCounts>(std::index_sequence<kCounts...>) {
    return std::array{&WeightedPicker::find_best<kCounts>...};
  }(std::make_index_sequence<kScorersMax>());
  (this->*kFindBest[scores_.size()])(scratch);
  // Load decides among equals only, which are few.
  context.score(scores_.size(), best);
  return {least_loaded(context, best, scratch.scores[scores_.size()]), Reason::kBestScore};
}

bool WeightedPicker::prefers(const Context& context, Slot a, Slot b) const {
  const double sum_a = sum(context.scratch, a);
  const double sum_b = sum(context.scratch, b);
  if (sum_a != sum_b) return sum_a > sum_b;
  const Scores& load = context.scratch.scores[scores_.size()];
  return load[a] < load[b];
}

}  // namespace fairlead::pick
