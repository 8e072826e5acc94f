#include "workload/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"

namespace fairlead::workload {
namespace {

using base::Nanos;
using namespace std::chrono_literals;

TEST(Histogram, IsZeroWhenEmpty) {
  const Histogram h;
  EXPECT_EQ(h.count(), 0U);
  EXPECT_EQ(h.quantile(0.5), 0ns);
  EXPECT_EQ(h.mean(), 0ns);
  EXPECT_EQ(h.max(), 0ns);
}

TEST(Histogram, IsExactForSmallValues) {
  for (int64_t ns = 0; ns < 256; ++ns) {
    Histogram h;
    h.add(Nanos(ns));
    h.add(1h);
    EXPECT_EQ(h.quantile(0.5), Nanos(ns));
  }
}

TEST(Histogram, ClampsWhatLiesOutsideItsRange) {
  Histogram h;
  h.add(-5ns);
  EXPECT_EQ(h.quantile(1), 0ns);
  h.add(Nanos::max());
  EXPECT_GT(h.quantile(1), 19h);
  EXPECT_LT(h.quantile(1), 20h);
}

TEST(Histogram, NeverAnswersAboveItsMaximum) {
  Histogram h;
  h.add(1'000'000ns);
  EXPECT_LE(h.quantile(0.99), h.max());
  EXPECT_EQ(h.max(), 1'000'000ns);
}

TEST(Histogram, StaysWithinHalfAPercentOfExactQuantiles) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    base::Random random(seed);
    Histogram h;
    std::vector<int64_t> exact;
    for (int i = 0; i < 5000; ++i) {
      // Nanoseconds to hours, every power of two about as often.
      const auto ns = static_cast<int64_t>(std::exp2(random.uniform() * 43));
      exact.push_back(ns);
      h.add(Nanos(ns));
    }
    std::sort(exact.begin(), exact.end());
    for (const double q : {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
      const size_t rank = std::max<size_t>(static_cast<size_t>(std::ceil(q * 5000)), 1);
      const auto want = static_cast<double>(exact[rank - 1]);
      EXPECT_NEAR(static_cast<double>(h.quantile(q).count()), want, want * 0.005)
          << "q " << q << " seed " << seed;
    }
  }
}

TEST(Histogram, MergingEqualsAddingToOne) {
  base::Random random(7);
  Histogram both;
  Histogram left;
  Histogram right;
  for (int i = 0; i < 1000; ++i) {
    const Nanos value(static_cast<int64_t>(random.below(1U << 30)));
    both.add(value);
    (i % 3 == 0 ? left : right).add(value);
  }
  left.merge(right);
  EXPECT_EQ(left.count(), both.count());
  EXPECT_EQ(left.max(), both.max());
  EXPECT_EQ(left.mean(), both.mean());
  for (const double q : {0.1, 0.5, 0.9, 0.99}) EXPECT_EQ(left.quantile(q), both.quantile(q));
}

}  // namespace
}  // namespace fairlead::workload
