#include "router/outliers.h"

#include <gtest/gtest.h>

namespace fairlead::router {
namespace {

using Slots = std::vector<pick::Slot>;
constexpr Standing kUsed = Standing::kUsed;
constexpr Standing kEjected = Standing::kEjected;
constexpr Standing kUnfit = Standing::kUnfit;

Answers answers(uint64_t good, uint64_t bad) { return {.good = good, .bad = bad}; }

TEST(Outliers, StandOutByFailingMuchMoreOftenThanTheRest) {
  const std::vector<Pool> pools{{0, 1, 2}};
  const std::vector<Answers> all{answers(80, 20), answers(99, 1), answers(98, 2)};
  EXPECT_EQ(find_outliers(pools, all), Slots{0});
}

TEST(Outliers, FailuresThatAllHaveAreNobodysOwn) {
  const std::vector<Pool> pools{{0, 1, 2}};
  const std::vector<Answers> all{answers(60, 40), answers(70, 30), answers(80, 20)};
  EXPECT_TRUE(find_outliers(pools, all).empty());
}

TEST(Outliers, NeedFiveFailuresATenthOfTheirAnswersAndSomebodyToCompareWith) {
  EXPECT_TRUE(stands_out(answers(45, 5), answers(20, 0)));
  EXPECT_FALSE(stands_out(answers(30, 4), answers(20, 0))) << "four failures";
  EXPECT_FALSE(stands_out(answers(46, 5), answers(20, 0))) << "less than a tenth";
  EXPECT_FALSE(stands_out(answers(45, 5), answers(19, 0))) << "too few others";
  EXPECT_TRUE(stands_out(answers(60, 40), answers(90, 10))) << "four times as often";
  EXPECT_FALSE(stands_out(answers(61, 39), answers(90, 10)));
}

TEST(Outliers, AnswersThatBreakOffCountAsFailures) {
  const Answers breaks{.good = 50, .broken = 10};
  EXPECT_TRUE(stands_out(breaks, answers(50, 0)));
  EXPECT_FALSE(stands_out(breaks, breaks)) << "what cuts them off is in between";
}

TEST(Outliers, AreComparedOnlyWithReplicasOfTheSameModel) {
  // Requests of the second model fail, wherever they go.
  const std::vector<Pool> pools{{0, 1}, {2, 3}};
  const std::vector<Answers> all{answers(100, 0), answers(100, 0), answers(70, 30),
                                 answers(70, 30)};
  EXPECT_TRUE(find_outliers(pools, all).empty());
}

TEST(Outliers, MustStandOutInAllTheirPools) {
  const std::vector<Answers> all{answers(70, 30), answers(100, 0), answers(70, 30)};
  EXPECT_EQ(find_outliers(std::vector<Pool>{{0, 1}}, all), Slots{0});
  EXPECT_TRUE(find_outliers(std::vector<Pool>{{0, 1}, {0, 2}}, all).empty());
  EXPECT_TRUE(find_outliers(std::vector<Pool>{{0}}, all).empty()) << "nobody to compare with";
}

std::vector<bool> spared(std::vector<Standing> standings, double share_max = 0.5) {
  Pool all;
  for (size_t i = 0; i < standings.size(); ++i) all.push_back(static_cast<pick::Slot>(i));
  return find_spared(std::vector<Pool>{all}, standings, share_max);
}

TEST(Panic, UpToHalfOfTheReplicasMayBeEjected) {
  EXPECT_EQ(spared({kEjected, kUsed}), (std::vector<bool>{false, false}));
  EXPECT_EQ(spared({kEjected, kEjected, kUsed, kUsed}),
            (std::vector<bool>{false, false, false, false}));
}

TEST(Panic, WhereMoreWouldBeEjectedAllAreUsed) {
  EXPECT_EQ(spared({kEjected}), std::vector<bool>{true});
  EXPECT_EQ(spared({kEjected, kEjected, kUsed}), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(spared({kEjected, kUsed, kUsed}, 0.3), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(spared({kEjected, kUsed, kUsed}, 0.34), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(spared({kEjected, kEjected}, 1), (std::vector<bool>{false, false}));
}

TEST(Panic, ReplicasThatAreDownDoNotCountAndAreNotSpared) {
  EXPECT_EQ(spared({kEjected, kUnfit}), (std::vector<bool>{true, false}));
  EXPECT_EQ(spared({kEjected, kUsed, kUnfit, kUnfit}),
            (std::vector<bool>{false, false, false, false}));
}

TEST(Panic, OfOneModelIsEnough) {
  const std::vector<Pool> pools{{0, 1}, {0}};
  EXPECT_EQ(find_spared(pools, std::vector<Standing>{kEjected, kUsed}, 0.5),
            (std::vector<bool>{true, false}));
}

}  // namespace
}  // namespace fairlead::router
