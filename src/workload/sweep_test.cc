#include "workload/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace fairlead::workload {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Search {
  std::optional<double> best;
  std::vector<double> tried;
};

Search search_to(double capacity, SweepOptions options) {
  SweepSearch search(options);
  Search out;
  while (const auto load = search.next()) {
    out.tried.push_back(*load);
    *load <= capacity ? search.kept() : search.missed();
  }
  out.best = search.best();
  return out;
}

TEST(SweepSearch, DoublesThenHalvesBetweenWhatWasKeptAndWhatMissed) {
  const Search search = search_to(5, {.min = 1, .max = 100, .scale = SweepScale::kWhole});
  EXPECT_THAT(search.tried, ElementsAre(1, 2, 4, 8, 6, 5));
  EXPECT_EQ(search.best, 5);
}

TEST(SweepSearch, EndsAtItsBounds) {
  EXPECT_EQ(search_to(1e9, {.min = 1, .max = 100}).best, 100);
  EXPECT_EQ(search_to(0.5, {.min = 1, .max = 100}).best, std::nullopt);
  EXPECT_THAT(search_to(0.5, {.min = 1, .max = 100}).tried, ElementsAre(1));
  EXPECT_THAT(search_to(3, {.min = 3, .max = 3}).tried, ElementsAre(3));
  EXPECT_THAT(search_to(9, {.min = 1.5, .max = 2.5, .scale = SweepScale::kWhole}).tried,
              ElementsAre(2));
}

// For random capacities: the best is below the capacity and within the precision of it, and no
// search is longer than its doublings and four halvings of the last.
TEST(SweepSearch, FindsAnyCapacityWithinItsPrecision) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    base::Random random(seed);
    const double capacity = std::exp(random.uniform() * std::log(1e6));
    const auto scale = random.below(2) == 0 ? SweepScale::kReal : SweepScale::kWhole;
    const Search search = search_to(capacity, {.min = 1, .max = 1e6, .scale = scale});
    ASSERT_TRUE(search.best.has_value()) << seed;
    EXPECT_LE(*search.best, capacity) << seed;
    if (scale == SweepScale::kReal) {
      EXPECT_GT(*search.best * (1 + SweepSearch::kPrecision) * 1.0001, capacity) << seed;
    } else {
      EXPECT_GE(std::max(*search.best * (1 + SweepSearch::kPrecision), *search.best + 1) * 1.0001,
                std::floor(capacity))
          << seed;
    }
    EXPECT_LE(search.tried.size(), std::ceil(std::log2(capacity)) + 2 + 5) << seed;
  }
}

Sweep sweep_of(std::vector<std::pair<double, bool>> trials, std::optional<double> best) {
  Sweep sweep{.label = "a", .trials = {}, .best = best};
  for (const auto& [load, kept] : trials) {
    Report report;
    report.label = "a";
    report.requests = static_cast<uint64_t>(load * 10);
    report.goodput = Goodput{.share = kept ? 1.0 : 0.5};
    sweep.trials.push_back({.load = load, .kept = kept, .report = report});
  }
  return sweep;
}

TEST(Sweep, ReportsItsBestTrialElseItsFirst) {
  EXPECT_EQ(sweep_of({{1, true}, {2, true}, {4, false}}, 2).report()->requests, 20U);
  EXPECT_EQ(sweep_of({{3, false}}, std::nullopt).report()->requests, 30U);
  EXPECT_EQ(sweep_of({}, std::nullopt).report(), nullptr);
}

TEST(Sweep, ListsItsTrialsByLoad) {
  const std::string text = render_sweep(sweep_of({{1, true}, {4, false}, {2, true}}, 2), "clients");
  EXPECT_LT(text.find("\n2 "), text.find("\n4 "));
  EXPECT_THAT(text, HasSubstr("within limits"));
  EXPECT_THAT(text, HasSubstr("50.0 %"));
  EXPECT_THAT(text, HasSubstr("missed\n"));
}

TEST(Sweep, WritesJsonThatReadsBack) {
  std::string text;
  codec::JsonWriter json(text);
  write_json(json, sweep_of({{1, true}, {2, false}}, 1));
  const auto parsed = codec::parse_json(text);
  ASSERT_TRUE(parsed.ok()) << text;
  EXPECT_EQ(parsed->find("best")->as_double(), 1);
  EXPECT_EQ(parsed->find("trials")->items().size(), 2U);
  EXPECT_FALSE(parsed->find("trials")->items()[1].find("kept")->as_bool());
}

}  // namespace
}  // namespace fairlead::workload
