#include "api/quantity.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "api/int_or_string.h"
#include "base/random.h"

namespace fairlead::api {
namespace {

Quantity parsed(std::string_view text) {
  auto quantity = Quantity::parse(text);
  EXPECT_TRUE(quantity.ok()) << text;
  return quantity ? *quantity : Quantity();
}

TEST(Quantity, ReadsEverySuffix) {
  for (const auto& [text, value] :
       std::vector<std::pair<std::string, int64_t>>{{"0", 0},
                                                    {"1", 1},
                                                    {"+3", 3},
                                                    {"-3", -3},
                                                    {"2k", 2000},
                                                    {"2M", 2000000},
                                                    {"1G", 1000000000},
                                                    {"1Ki", 1024},
                                                    {"1.5Gi", 1610612736},
                                                    {"1Ei", int64_t{1} << 60},
                                                    {"2e3", 2000},
                                                    {"2E3", 2000},
                                                    {"1E", 1000000000000000000},
                                                    {"3e-0", 3},
                                                    {".5k", 500},
                                                    {"1.k", 1000},
                                                    {"5P", 5000000000000000}}) {
    EXPECT_EQ(parsed(text).value(), value) << text;
  }
  EXPECT_EQ(parsed("250m").milli_value(), 250);
  EXPECT_EQ(parsed("1.2345").milli_value(), 1235);
  EXPECT_DOUBLE_EQ(parsed("0.25").as_double(), 0.25);
}

TEST(Quantity, ComparesByValueAndKeepsItsText) {
  EXPECT_EQ(parsed("1000m"), parsed("1"));
  EXPECT_EQ(parsed("1Ki"), parsed("1024"));
  EXPECT_LT(parsed("999m"), parsed("1"));
  EXPECT_LT(parsed("-1"), parsed("0"));
  EXPECT_EQ(parsed("1000m").text(), "1000m");
}

TEST(Quantity, PrintsTheCanonicalFormOfTheApiServer) {
  for (const auto& [text, canonical] :
       std::vector<std::pair<std::string, std::string>>{{"1000m", "1"},
                                                        {"1500m", "1500m"},
                                                        {"0.5", "500m"},
                                                        {"1024", "1024"},
                                                        {"1024Ki", "1Mi"},
                                                        {"1.5Gi", "1536Mi"},
                                                        {"100Mi", "100Mi"},
                                                        {"0.5Ki", "512"},
                                                        {"12e6", "12e6"},
                                                        {"1000", "1k"},
                                                        {"0.0001", "100u"},
                                                        {"-2000k", "-2M"},
                                                        {"0Gi", "0"},
                                                        {"1e3", "1e3"},
                                                        {"2E", "2E"}}) {
    EXPECT_EQ(parsed(text).canonical(), canonical) << text;
  }
}

TEST(Quantity, RoundsAwayFromZeroPastABillionth) {
  EXPECT_EQ(parsed("1n").canonical(), "1n");
  EXPECT_EQ(parsed("9223372036854775806.000000001").canonical(), "9223372036854775806000000001n");
  EXPECT_EQ(parsed("0.1n").canonical(), "1n");
  EXPECT_EQ(parsed("-0.1n").canonical(), "-1n");
  EXPECT_EQ(parsed("0.0000000001").canonical(), "1n");
  EXPECT_EQ(parsed("1e-100"), parsed("1n"));
}

TEST(Quantity, StopsAtTheLargest) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(parsed("9223372036854775807").value(), kMax);
  EXPECT_EQ(parsed("9223372036854775808").value(), kMax);
  EXPECT_EQ(parsed("99999999999999999999999999999999999").value(), kMax);
  EXPECT_EQ(parsed("8Ei").value(), kMax);
  EXPECT_EQ(parsed("1e99").value(), kMax);
  EXPECT_EQ(parsed("-1e99").value(), -kMax);
  EXPECT_EQ(parsed("1e99").milli_value(), kMax);
  EXPECT_EQ(parsed("1.23355921974Ei").canonical(), "1422196950791127057767071745n");
  EXPECT_EQ(parsed("9.999999999999999999999999999e9").canonical(), "10e9");
}

TEST(Quantity, RefusesWhatIsNone) {
  for (const char* text :
       {"",   "-",   "+",     ".",   "m",    "Gi",   "1 Gi", "1g", "1K", "1Mib", "1ee3",
        "1e", "1e+", "1.2.3", "--1", "0x10", "1e3m", "nan",  " 1", "1 ", "1Zi",  "1ki"}) {
    EXPECT_FALSE(Quantity::parse(text).ok()) << text;
  }
  EXPECT_FALSE(Quantity::parse(std::string(129, '1')).ok());
  EXPECT_TRUE(Quantity::parse(std::string(128, '1')).ok());
}

TEST(Quantity, CanonicalFormReadsBackTheSame) {
  base::Random random(7);
  const std::vector<std::string> suffixes = {"",   "n",  "u",   "m",   "k",   "M",    "G",   "T",
                                             "P",  "E",  "Ki",  "Mi",  "Gi",  "Ti",   "Pi",  "Ei",
                                             "e2", "e9", "e18", "e-3", "e-9", "e-18", "e-27"};
  const auto digits = [&](uint64_t most) {
    std::string text;
    for (uint64_t n = random.below(most); n > 0; --n)
      text += static_cast<char>('0' + random.below(10));
    return text;
  };
  for (int i = 0; i < 50000; ++i) {
    std::string text = random.below(2) == 0 ? "-" : "";
    text += std::to_string(random.below(10)) + digits(20);
    if (random.below(2) == 0) text += '.' + digits(30);
    text += suffixes[random.below(suffixes.size())];
    const Quantity quantity = parsed(text);
    EXPECT_EQ(parsed(quantity.canonical()), quantity) << text << " is " << quantity.canonical();
  }
}

TEST(IntOrString, ResolvesPercentages) {
  EXPECT_EQ(*IntOrString(3).resolve(10, Rounding::kUp), 3);
  EXPECT_EQ(*IntOrString("25%").resolve(10, Rounding::kUp), 3);
  EXPECT_EQ(*IntOrString("25%").resolve(10, Rounding::kDown), 2);
  EXPECT_EQ(*IntOrString("100%").resolve(7, Rounding::kDown), 7);
  for (const char* text : {"", "%", "25", "25%%", "x%", "2 5%", "99999999999%"}) {
    EXPECT_FALSE(IntOrString(text).resolve(10, Rounding::kUp).ok()) << text;
  }
}

}  // namespace
}  // namespace fairlead::api
