// The candidate with the highest weighted sum of scores; of equals the least loaded; of those the
// one that was given fewer prompt tokens so far; of those any.
//
//   sum = weight[0] * score[0] + weight[1] * score[1] + ...      scores from 0 to 100
//
// What the scheduling file describes. Without scorers all candidates are equal, so the least loaded
// one is picked.
//
// Cost: every scorer for every candidate, and one sum each.
// Misleads: as a sum does: see prefix_affinity.h for why the presets bound load instead.
#pragma once

#include <string>
#include <vector>

#include "pick/plugin.h"

namespace fairlead::pick {

struct WeightedScore {
  std::string scorer;
  double weight = 1;

  static constexpr double kWeightMax = 1e6;
};

class WeightedPicker final : public Picker {
 public:
  // At most kScorersMax - 1; the last column is `load`.
  explicit WeightedPicker(std::vector<WeightedScore> scores);
  WeightedPicker(const WeightedPicker&) = delete;
  WeightedPicker& operator=(const WeightedPicker&) = delete;

  std::string_view name() const override { return "weighted"; }
  std::span<const std::string_view> scorers() const override { return names_; }
  size_t columns_of_all() const override { return scores_.size(); }
  Pick pick(const Context& context) const override;
  bool prefers(const Context& context, Slot a, Slot b) const override;

 private:
  // The candidates with the highest sum, into the shortlist.
  template <size_t kCount>
  void find_best(Scratch& scratch) const;
  double sum(const Scratch& scratch, Slot slot) const;

  std::vector<WeightedScore> scores_;
  std::vector<std::string_view> names_;
};

}  // namespace fairlead::pick
