#include "workload/arrivals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace fairlead::workload {
namespace {

std::vector<double> gaps_of(double rate, uint64_t seed, int count) {
  PoissonArrivals arrivals(rate, base::Random(seed));
  std::vector<double> gaps;
  double last = 0;
  for (int i = 0; i < count; ++i) {
    const double at = base::to_seconds(arrivals.next());
    gaps.push_back(at - last);
    last = at;
  }
  return gaps;
}

TEST(PoissonArrivals, KeepsTheRateAndTheSpreadOfAPoissonProcess) {
  for (const double rate : {0.5, 20.0, 50'000.0}) {
    const auto gaps = gaps_of(rate, 11, 20'000);
    double sum = 0;
    double squares = 0;
    for (const double gap : gaps) {
      ASSERT_GE(gap, 0);
      sum += gap;
      squares += gap * gap;
    }
    const double mean = sum / 20'000;
    const double deviation = std::sqrt(squares / 20'000 - mean * mean);
    EXPECT_NEAR(mean * rate, 1, 0.03);
    EXPECT_NEAR(deviation / mean, 1, 0.05);
  }
}

TEST(PoissonArrivals, RepeatsFromItsSeedAndDiffersFromAnother) {
  EXPECT_EQ(gaps_of(10, 3, 100), gaps_of(10, 3, 100));
  EXPECT_NE(gaps_of(10, 3, 100), gaps_of(10, 4, 100));
}

}  // namespace
}  // namespace fairlead::workload
