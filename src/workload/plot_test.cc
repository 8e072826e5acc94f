#include "workload/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "base/random.h"

namespace fairlead::workload {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> out;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) {
    out.push_back((*it)[1]);
  }
  return out;
}

std::vector<std::string> labels(const std::string& svg) {
  return matches(svg, "<text[^>]*>([^<]*)</text>");
}

Plot plot_of(std::vector<Point> points, Scale scale = Scale::kLinear) {
  return {.title = "T",
          .x = {.label = "ms", .scale = scale, .limit = std::nullopt},
          .y = {.label = "% of answers", .scale = Scale::kLinear, .limit = std::nullopt},
          .series = {{.label = "a", .points = std::move(points)}}};
}

TEST(Plot, NamesBothAxesAndItsTicks) {
  const auto names = labels(render_svg(plot_of({{0, 0}, {47, 100}})));
  EXPECT_THAT(names, testing::IsSupersetOf({"ms", "% of answers", "0", "10", "50", "100"}));
}

TEST(Plot, EndsALogarithmicAxisAtPowersOfTen) {
  const auto names = labels(render_svg(plot_of({{12, 0}, {3400, 100}}, Scale::kLog)));
  EXPECT_THAT(names, testing::IsSupersetOf({"10", "20", "50", "100", "1000", "10000"}));
  EXPECT_THAT(names, Not(testing::Contains("1")));
}

TEST(Plot, ShowsZeroOnALogarithmicAxisAtAThousandth) {
  const auto names = labels(render_svg(plot_of({{0, 0}, {1, 100}}, Scale::kLog)));
  EXPECT_THAT(names, testing::IsSupersetOf({"0.001", "1"}));
}

TEST(Plot, DrawsWhereValuesBelong) {
  const std::string svg = render_svg(plot_of({{0, 0}, {10, 100}}));
  // Left bottom and right top of the plot's area.
  EXPECT_THAT(svg, HasSubstr("points=\"64.0,292.0 620.0,16.0\""));
}

TEST(Plot, DrawsLimitsWithinTheAxes) {
  Plot plot = plot_of({{0, 0}, {10, 10}});
  plot.x.limit = 40;
  const std::string svg = render_svg(plot);
  EXPECT_THAT(svg, HasSubstr("class=\"limit\" x1=\"620.0\""));
  EXPECT_THAT(labels(svg), testing::Contains("40"));
}

TEST(Plot, DrawsDotsAndDashes) {
  Plot plot = plot_of({{1, 1}, {2, 2}, {NAN, 1}});
  plot.series[0].mark = Mark::kDots;
  plot.series[0].color = 3;
  EXPECT_EQ(matches(render_svg(plot), "(<circle )").size(), 2U);
  EXPECT_THAT(render_svg(plot), HasSubstr("class=\"dots s3\""));
  plot.series[0].mark = Mark::kDashed;
  EXPECT_THAT(render_svg(plot), HasSubstr("class=\"line dashed s3\""));
}

TEST(Plot, SurvivesNothingAndASinglePoint) {
  EXPECT_TRUE(plot_of({}).empty());
  EXPECT_TRUE(plot_of({{NAN, 1}, {1, INFINITY}}).empty());
  EXPECT_FALSE(plot_of({{0, 0}}).empty());
  for (const auto scale : {Scale::kLinear, Scale::kLog}) {
    EXPECT_THAT(render_svg(plot_of({}, scale)), Not(HasSubstr("nan")));
    EXPECT_THAT(render_svg(plot_of({{0, 0}}, scale)), Not(HasSubstr("nan")));
  }
}

TEST(Plot, EscapesWhatItShows) {
  Plot plot = plot_of({{1, 1}});
  plot.title = "a\"b";
  plot.series[0].label = "<script>&";
  const std::string svg = render_svg(plot);
  EXPECT_THAT(svg, HasSubstr("aria-label=\"a&quot;b\""));
  EXPECT_THAT(svg, HasSubstr("<title>&lt;script&gt;&amp;</title>"));
}

// Whatever the values, everything is drawn within the picture.
TEST(Plot, StaysWithinItsBoxForRandomValues) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    base::Random random(seed);
    std::vector<Point> points;
    for (uint64_t i = random.below(20); i > 0; --i) {
      points.push_back({std::exp(random.normal() * 12) - 1e-3, std::exp(random.normal() * 12)});
    }
    Plot plot = plot_of(points, random.below(2) == 0 ? Scale::kLinear : Scale::kLog);
    plot.y.scale = random.below(2) == 0 ? Scale::kLinear : Scale::kLog;
    plot.series[0].mark = Mark::kDots;
    const std::string svg = render_svg(plot);
    for (const auto& x : matches(svg, "(?:x1|x2|cx)=\"([^\"]*)\"")) {
      EXPECT_GE(std::stod(x), 0) << seed;
      EXPECT_LE(std::stod(x), 640) << seed;
    }
    for (const auto& y : matches(svg, "(?:y1|y2|cy)=\"([^\"]*)\"")) {
      EXPECT_GE(std::stod(y), 0) << seed;
      EXPECT_LE(std::stod(y), 340) << seed;
    }
    EXPECT_LE(labels(svg).size(), 60U) << seed;
  }
}

}  // namespace
}  // namespace fairlead::workload
