#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <string>

#include "base/append.h"
#include "base/bytes.h"
#include "base/cache_line.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/float_text.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/result.h"

namespace fairlead::base {
namespace {

using std::chrono::milliseconds;

TEST(Error, WrapsItsCauseAndKeepsCodeAndRetryHint) {
  const Error inner =
      Error(ErrorCode::kUnavailable, "no replica").with_retry_after(milliseconds(250));
  const Error outer = inner.wrap("cannot route");
  EXPECT_EQ(outer.code(), ErrorCode::kUnavailable);
  EXPECT_EQ(outer.describe(), "cannot route: no replica");
  EXPECT_EQ(outer.retry_after(), milliseconds(250));
  static_assert(sizeof(Error) == sizeof(void*));
}

TEST(Result, HoldsEitherValueOrError) {
  Result<int> good = 3;
  Result<int> bad = invalid_argument("x");
  EXPECT_EQ(*good, 3);
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.error().message(), "x");
}

TEST(Bytes, ParsesUnitsAndPrintsTheShortestExactForm) {
  EXPECT_EQ(parse_bytes("64MiB")->count, 64u << 20);
  EXPECT_EQ(parse_bytes("1kB")->count, 1000u);
  EXPECT_EQ(to_string(Bytes(64u << 20)), "64MiB");
  EXPECT_EQ(to_string(Bytes(1500)), "1500B");
  EXPECT_EQ(to_string(Bytes(0)), "0B");
}

TEST(Bytes, RefusesWhatIsNoSize) {
  for (const char* text : {"", "MiB", "-1", "12 MiB", "1.5MiB", "99999999999999TiB", "1XB"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
}

TEST(LineArray, SharesNoCacheLineWithAnythingElse) {
  LineArray<std::atomic<uint32_t>> items(17);
  EXPECT_EQ(items.size(), 17u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(&items[0]) % kCacheLine, 0u);
  for (size_t i = 0; i < items.size(); ++i) EXPECT_EQ(items[i].load(), 0u);
  items[16] = 7;
  const LineArray<std::atomic<uint32_t>> moved = std::move(items);
  EXPECT_EQ(moved[16].load(), 7u);
}

TEST(Duration, ParsesCompoundsAndFractions) {
  EXPECT_EQ(*parse_duration("1h30m"), std::chrono::minutes(90));
  EXPECT_EQ(*parse_duration("1.5s"), milliseconds(1500));
  EXPECT_EQ(*parse_duration("0"), Nanos(0));
  EXPECT_EQ(to_string(milliseconds(1500)), "1.5s");
  EXPECT_EQ(to_string(std::chrono::microseconds(250)), "250us");
  EXPECT_EQ(to_string(std::chrono::hours(1)), "1h");
}

TEST(Duration, RefusesWhatIsNoDuration) {
  for (const char* text : {"", "5", "s", "-1s", "1 s", "1sm", "inf", "nan", "1e300h", "5x"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(Clock, AfterSaturatesInsteadOfOverflowing) {
  EXPECT_EQ(after(TimePoint(Nanos(5)), Nanos::max()), kNever);
  EXPECT_EQ(after(TimePoint(Nanos(5)), Nanos(7)), TimePoint(Nanos(12)));
}

TEST(Random, SameSeedSameDraws) {
  Random a(42);
  Random b(42);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.next(), b.next());
}

TEST(Random, DistributionsHaveTheirMeans) {
  Random random(1);
  double uniform = 0;
  double exponential = 0;
  double square = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    uniform += random.uniform();
    exponential += random.exponential(3.0);
    const double n = random.normal();
    square += n * n;
    EXPECT_LT(random.below(7), 7u);
  }
  EXPECT_NEAR(uniform / kDraws, 0.5, 0.01);
  EXPECT_NEAR(exponential / kDraws, 3.0, 0.1);
  EXPECT_NEAR(square / kDraws, 1.0, 0.03);
}

TEST(Append, PrintsNumbersAtTheirLimits) {
  std::string text;
  append_decimal(text, 0);
  append_decimal(text, UINT64_MAX);
  text += ' ';
  append_hex(text, 0);
  append_hex(text, 0x1aF);
  text += ' ';
  append_hex16(text, 0x1aF);
  text += ' ';
  append_thousandths(text, 7);
  append_thousandths(text, 999);
  EXPECT_EQ(text, "018446744073709551615 01af 00000000000001af 007999");
}

TEST(Hash, IsStableAcrossReleases) {
  EXPECT_EQ(hash64(""), 0x2d06800538d394c2ULL);
  EXPECT_NE(hash64("a", 1), hash64("a", 2));
}

TEST(FloatText, PrintsTheShortestFormThatReadsBack) {
  const auto text = [](double value) {
    std::string out;
    append_float(out, value);
    return out;
  };
  EXPECT_EQ(text(0), "0.0");
  EXPECT_EQ(text(-0.0), "-0.0");
  EXPECT_EQ(text(-1), "-1.0");
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(-8.317768096923828), "-8.317768096923828");
  EXPECT_EQ(text(0.0001), "0.0001");
  EXPECT_EQ(text(0.00001), "1e-05");
  EXPECT_EQ(text(1e15), "1000000000000000.0");
  EXPECT_EQ(text(9999999999999998), "9999999999999998.0");
  EXPECT_EQ(text(1e16), "1e+16");
  EXPECT_EQ(text(1.25e-300), "1.25e-300");
  EXPECT_EQ(text(1795973858.2256389), "1795973858.2256389");
  EXPECT_EQ(text(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(text(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(text(std::nan("")), "nan");
}

}  // namespace
}  // namespace fairlead::base
