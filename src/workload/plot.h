// Plot: a diagram as SVG for an HTML page, without anything from outside it. Axes begin and end at
// round values, or at powers of ten where they are logarithmic. Colours and fonts are the page's:
// the series of index i has the class "s<i>", the rest "axis", "grid", "label" and "limit". Pure.
//
//   render_svg({.title = "TTFT", .x = {.label = "ms", .scale = Scale::kLog},
//               .y = {.label = "% of answers"}, .series = {{.points = curves.ttft}}});
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/curves.h"

namespace fairlead::workload {

enum class Scale : uint8_t { kLinear, kLog };
enum class Mark : uint8_t { kLine, kDashed, kDots };

struct Axis {
  std::string label;  // with its unit
  Scale scale = Scale::kLinear;
  std::optional<double> limit;  // a line across the plot
};

struct Series {
  std::string label;
  std::vector<Point> points;
  Mark mark = Mark::kLine;
  size_t color = 0;
};

struct Plot {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Series> series;

  bool empty() const;  // without a point
};

// Points that are not finite are left out; on a logarithmic axis values below a thousandth are
// shown there.
std::string render_svg(const Plot& plot);

// For text between tags and in attributes.
std::string escape_html(std::string_view text);

}  // namespace fairlead::workload
