#include "workload/arrivals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace fairlead::workload {
namespace {

using base::Nanos;
using namespace std::chrono_literals;

std::vector<double> gaps_of(const ArrivalOptions& options, uint64_t seed, int count) {
  Arrivals arrivals(options, base::Random(seed));
  std::vector<double> gaps;
  double last = 0;
  for (int i = 0; i < count; ++i) {
    const double at = base::to_seconds(arrivals.next());
    gaps.push_back(at - last);
    last = at;
  }
  return gaps;
}

struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments moments_of(const std::vector<double>& values) {
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(values.size());
  const double mean = sum / count;
  return {.mean = mean, .deviation = std::sqrt(squares / count - mean * mean)};
}

TEST(PoissonArrivals, KeepTheRateAndTheSpreadOfAPoissonProcess) {
  for (const double rate : {0.5, 20.0, 50'000.0}) {
    const auto gaps = gaps_of({.per_second = rate}, 11, 20'000);
    for (const double gap : gaps) ASSERT_GE(gap, 0);
    const Moments moments = moments_of(gaps);
    EXPECT_NEAR(moments.mean * rate, 1, 0.03);
    EXPECT_NEAR(moments.deviation / moments.mean, 1, 0.05);
  }
}

TEST(PoissonArrivals, RepeatFromTheirSeedAndDifferFromAnother) {
  for (const auto kind : {ArrivalKind::kPoisson, ArrivalKind::kBursty}) {
    const ArrivalOptions options{.kind = kind, .per_second = 10};
    EXPECT_EQ(gaps_of(options, 3, 100), gaps_of(options, 3, 100));
    EXPECT_NE(gaps_of(options, 3, 100), gaps_of(options, 4, 100));
  }
}

TEST(ConstantArrivals, AreEquallyFarApartAndDoNotDrift) {
  Arrivals arrivals({.kind = ArrivalKind::kConstant, .per_second = 3}, base::Random(1));
  EXPECT_EQ(arrivals.next(), 0ns);
  EXPECT_NEAR(base::to_seconds(arrivals.next()), 1.0 / 3, 1e-8);
  for (int i = 2; i < 3'000'000; ++i) arrivals.next();
  EXPECT_EQ(arrivals.next(), 1'000'000s);
}

// Arrivals in windows of a second: how much their count varies, over what a Poisson process would.
double dispersion_of(const ArrivalOptions& options, uint64_t seed, size_t seconds) {
  Arrivals arrivals(options, base::Random(seed));
  std::vector<double> counts(seconds);
  for (Nanos at = arrivals.next(); at < seconds * 1s; at = arrivals.next()) {
    ++counts[static_cast<size_t>(at / 1s)];
  }
  const Moments moments = moments_of(counts);
  return moments.deviation * moments.deviation / moments.mean;
}

TEST(BurstyArrivals, KeepTheMeanRateOfAllTheRun) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const ArrivalOptions options{
        .kind = ArrivalKind::kBursty, .per_second = 50, .burst_length = 1s};
    EXPECT_NEAR(moments_of(gaps_of(options, seed, 400'000)).mean * 50, 1, 0.06) << seed;
  }
}

TEST(BurstyArrivals, VaryMoreThanAPoissonProcessAndMoreSoWithTheRatio) {
  const ArrivalOptions poisson{.per_second = 20};
  ArrivalOptions bursty{.kind = ArrivalKind::kBursty, .per_second = 20, .burst_ratio = 5};
  EXPECT_NEAR(dispersion_of(poisson, 2, 20'000), 1, 0.1);
  const double five = dispersion_of(bursty, 2, 20'000);
  bursty.burst_ratio = 20;
  const double twenty = dispersion_of(bursty, 2, 20'000);
  EXPECT_GT(five, 5);
  EXPECT_GT(twenty, 2 * five);
}

TEST(BurstyArrivals, OfRatioOneAreAPoissonProcess) {
  const ArrivalOptions options{.kind = ArrivalKind::kBursty, .per_second = 20, .burst_ratio = 1};
  EXPECT_NEAR(dispersion_of(options, 2, 20'000), 1, 0.1);
}

TEST(TraceArrivals, AreThoseRecordedButFasterAndNeverBackInTime) {
  Arrivals arrivals({.kind = ArrivalKind::kTrace, .speedup = 2}, base::Random(1));
  EXPECT_EQ(arrivals.next(0ms), 0ms);
  EXPECT_EQ(arrivals.next(3000ms), 1500ms);
  EXPECT_EQ(arrivals.next(2000ms), 1500ms);
  EXPECT_EQ(arrivals.next(5000ms), 2500ms);
}

TEST(ArrivalOptions, AreRefusedByName) {
  const auto why = [](const ArrivalOptions& options) {
    const auto valid = validate(options);
    return valid ? std::string("valid") : valid.error().message();
  };
  EXPECT_EQ(why({}), "valid");
  EXPECT_EQ(why({.burst_ratio = 1}), "valid");
  EXPECT_NE(why({.per_second = 0}).find("rate is 0"), std::string::npos);
  EXPECT_NE(why({.burst_ratio = 0.9}).find("burst-ratio"), std::string::npos);
  EXPECT_NE(why({.burst_share = 0}).find("burst-share"), std::string::npos);
  EXPECT_NE(why({.burst_share = 1}).find("burst-share"), std::string::npos);
  EXPECT_NE(why({.burst_length = 0s}).find("burst-length"), std::string::npos);
  EXPECT_NE(why({.speedup = 0}).find("speedup"), std::string::npos);
  EXPECT_NE(why({.per_second = std::nan("")}).find("rate"), std::string::npos);
}

}  // namespace
}  // namespace fairlead::workload
