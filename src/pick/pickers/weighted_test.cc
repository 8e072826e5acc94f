#include "pick/pickers/weighted.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "pick/scorers/load.h"
#include "pick/testing.h"

namespace fairlead::pick {
namespace {

// A column that the test writes.
class Given final : public Scorer {
 public:
  explicit Given(Scores scores) : scores_(std::move(scores)) {}
  std::string_view name() const override { return "given"; }
  void score(const Context&, std::span<const Slot> slots, Scores& out) const override {
    for (const Slot slot : slots) out[slot] = scores_[slot];
  }

 private:
  Scores scores_;
};

const LoadScorer kWeightedLoad;

TEST(WeightedPicker, AddsScoresByTheirWeights) {
  testing::World world(3);
  const Given first({90, 50, 0});
  const Given second({0, 50, 80});
  const std::array<const Scorer*, 3> scorers{&first, &second, &kWeightedLoad};
  const auto picked = [&](double a, double b) {
    return WeightedPicker({{"first", a}, {"second", b}}).pick(world.context(scorers)).slot;
  };
  EXPECT_EQ(picked(1, 1), 1);
  EXPECT_EQ(picked(2, 1), 0);
  EXPECT_EQ(picked(1, 3), 2);
  EXPECT_EQ(picked(0, 1), 2);
}

TEST(WeightedPicker, OfEqualsTheLeastLoadedThenAny) {
  testing::World world(4);
  world.load(1, 1);
  const Given given({50, 50, 50, 49});
  const std::array<const Scorer*, 2> scorers{&given, &kWeightedLoad};
  const WeightedPicker picker({{"given", 1}});
  std::set<Slot> picked;
  for (int i = 0; i < 100; ++i) picked.insert(picker.pick(world.context(scorers)).slot);
  EXPECT_EQ(picked, (std::set<Slot>{0, 2}));
}

TEST(WeightedPicker, WithoutScorersTheLeastLoadedIsPicked) {
  testing::World world(3);
  world.load(0, 1);
  world.load(1, 2);
  const std::array<const Scorer*, 1> scorers{&kWeightedLoad};
  const Pick pick = WeightedPicker({}).pick(world.context(scorers));
  EXPECT_EQ(pick.slot, 2);
  EXPECT_EQ(pick.reason, Reason::kBestScore);
}

TEST(WeightedPicker, PrefersForTheExplanationAsItPicks) {
  testing::World world(3);
  world.load(0, 1);
  const Given given({50, 50, 60});
  const std::array<const Scorer*, 2> scorers{&given, &kWeightedLoad};
  const WeightedPicker picker({{"given", 1}});
  const Context context = world.context(scorers);
  static_cast<void>(picker.pick(context));
  ASSERT_EQ(picker.columns_of_all(), 1u) << "load is scored of equals only";
  context.score(1, world.scratch.candidates);
  EXPECT_TRUE(picker.prefers(context, 2, 1));
  EXPECT_TRUE(picker.prefers(context, 1, 0));
  EXPECT_FALSE(picker.prefers(context, 0, 1));
}

}  // namespace
}  // namespace fairlead::pick
