#include "pick/pickers/weighted.h"

#include <array>

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

Pick WeightedPicker::pick(const Context& context) const {
  Scratch& scratch = context.scratch;
  const std::vector<Slot>& candidates = scratch.candidates;
  for (size_t i = 0; i < names_.size(); ++i) context.score(i, candidates);
  // Always as many, the rest weighing nothing: the compiler then needs no loop for a sum.
  std::array<const float*, kScorersMax - 1> columns;
  std::array<double, kScorersMax - 1> weights{};
  columns.fill(scratch.scores[scores_.size()].data());
  for (size_t i = 0; i < scores_.size(); ++i) {
    columns[i] = scratch.scores[i].data();
    weights[i] = scores_[i].weight;
  }
  std::vector<Slot>& best = scratch.shortlist;
  best.clear();
  double most = 0;
  for (const Slot slot : candidates) {
    double total = 0;
    for (size_t i = 0; i < columns.size(); ++i) {
      total += weights[i] * static_cast<double>(columns[i][slot]);
    }
    if (!best.empty() && total < most) continue;
    if (total > most) best.clear();
    most = total;
    best.push_back(slot);
  }
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
