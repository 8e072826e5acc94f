#include "api/time.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace fairlead::api {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(Time, ReadsAnyOffset) {
  EXPECT_EQ(Time::parse("1970-01-01T00:00:01Z")->since_epoch, seconds(1));
  EXPECT_EQ(*Time::parse("2026-11-30T08:00:00Z"), *Time::parse("2026-11-30T09:30:00+01:30"));
  EXPECT_EQ(*Time::parse("2026-11-30T08:00:00Z"), *Time::parse("2026-11-30T00:00:00-08:00"));
}

TEST(Time, CutsFractions) {
  EXPECT_EQ(Time::parse("1970-01-01T00:00:00.25Z")->since_epoch, microseconds(250000));
  EXPECT_EQ(Time::parse("1970-01-01T00:00:00.0000019Z")->since_epoch, microseconds(1));
}

TEST(Time, WritesWholeSecondsAndMicroseconds) {
  const Time time = *Time::parse("2024-02-29T23:59:59.123456Z");
  EXPECT_EQ(time.text(), "2024-02-29T23:59:59Z");
  EXPECT_EQ(MicroTime{time}.text(), "2024-02-29T23:59:59.123456Z");
}

TEST(Time, RefusesWhatIsNone) {
  for (const char* text :
       {"", "2026-11-30", "2026-11-30T08:00:00", "2026-11-30 08:00:00Z", "2026-13-01T00:00:00Z",
        "2026-02-29T00:00:00Z", "2026-11-30T24:00:00Z", "2026-11-30T08:60:00Z",
        "2026-11-30T08:00:60Z", "2026-11-30T08:00:00.Z", "2026-11-30T08:00:00+1:00",
        "2026-11-30T08:00:00+25:00", "2026-11-30T08:00:00Zx", "0000-01-01T00:00:00+00:01",
        "9999-12-31T23:59:00-00:01"}) {
    EXPECT_FALSE(Time::parse(text).ok()) << text;
  }
}

TEST(Time, TextReadsBackTheSame) {
  base::Random random(11);
  for (int i = 0; i < 20000; ++i) {
    const MicroTime time{{microseconds(static_cast<int64_t>(random.below(4102444800000000ull)))}};
    EXPECT_EQ(*Time::parse(time.text()), time.time) << time.text();
  }
}

TEST(Duration, ReadsGosDurations) {
  for (const auto& [text, value] :
       std::vector<std::pair<std::string, nanoseconds>>{{"0", nanoseconds(0)},
                                                        {"0s", nanoseconds(0)},
                                                        {"100ms", std::chrono::milliseconds(100)},
                                                        {"1m30s", seconds(90)},
                                                        {"1.5h", std::chrono::minutes(90)},
                                                        {"-5s", -seconds(5)},
                                                        {"+5s", seconds(5)},
                                                        {".5s", std::chrono::milliseconds(500)},
                                                        {"1us2ns", nanoseconds(1002)},
                                                        {"1µs", nanoseconds(1000)},
                                                        {"1s1s", seconds(2)}}) {
    ASSERT_TRUE(Duration::parse(text).ok()) << text;
    EXPECT_EQ(Duration::parse(text)->value, value) << text;
  }
}

TEST(Duration, PrintsAsGoDoes) {
  for (const auto& [value, text] :
       std::vector<std::pair<nanoseconds, std::string>>{{nanoseconds(0), "0s"},
                                                        {nanoseconds(1), "1ns"},
                                                        {nanoseconds(1100), "1.1µs"},
                                                        {std::chrono::milliseconds(100), "100ms"},
                                                        {std::chrono::milliseconds(1500), "1.5s"},
                                                        {seconds(60), "1m0s"},
                                                        {seconds(3600), "1h0m0s"},
                                                        {seconds(90), "1m30s"},
                                                        {-seconds(5), "-5s"}}) {
    EXPECT_EQ(Duration{value}.text(), text);
  }
  EXPECT_EQ(Duration{nanoseconds(std::numeric_limits<int64_t>::max())}.text(),
            "2562047h47m16.854775807s");
}

TEST(Duration, RefusesWhatIsNone) {
  for (const char* text : {"", "-", "1", "s", "1 s", "1x", "1s ", ".s", "1d", "1..5s", "9999999h",
                           "9223372036854775808ns"}) {
    EXPECT_FALSE(Duration::parse(text).ok()) << text;
  }
}

TEST(Duration, TextReadsBackTheSame) {
  base::Random random(13);
  for (int i = 0; i < 20000; ++i) {
    const Duration duration{
        nanoseconds(static_cast<int64_t>(random.below(uint64_t{1} << random.below(62))))};
    ASSERT_TRUE(Duration::parse(duration.text()).ok()) << duration.text();
    EXPECT_EQ(*Duration::parse(duration.text()), duration) << duration.text();
  }
}

}  // namespace
}  // namespace fairlead::api
