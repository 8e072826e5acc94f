#include "workload/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace fairlead::workload {
namespace {

constexpr double kWidth = 640;
constexpr double kHeight = 340;
constexpr double kLeft = 64;
constexpr double kRight = 20;
constexpr double kTop = 16;
constexpr double kBottom = 48;
constexpr double kLogMin = 1e-3;
constexpr int kTicksWanted = 6;

// An axis with its ends found: from values to places.
struct Ruler {
  Scale scale = Scale::kLinear;
  double low = 0;
  double high = 1;
  double begin = 0;  // in pixels
  double end = 1;
  std::vector<double> ticks;

  double place(double value) const {
    double share = (value - low) / (high - low);
    if (scale == Scale::kLog) {
      share = std::log(std::max(value, kLogMin) / low) / std::log(high / low);
    }
    return begin + std::clamp(share, 0.0, 1.0) * (end - begin);
  }
};

// 1, 2 or 5 times a power of ten.
double round_step(double step) {
  const double power = std::pow(10, std::floor(std::log10(step)));
  const double digits = step / power;
  if (digits <= 1) return power;
  if (digits <= 2) return 2 * power;
  return digits <= 5 ? 5 * power : 10 * power;
}

void rule_linear(Ruler& ruler, double low, double high) {
  low = std::min(low, 0.0);  // amounts: from nothing
  if (high <= low) high = low + 1;
  const double step = round_step((high - low) / kTicksWanted);
  ruler.low = std::floor(low / step) * step;
  ruler.high = std::ceil(high / step) * step;
  for (double i = 0; ruler.low + i * step <= ruler.high + step / 2; ++i) {
    ruler.ticks.push_back(ruler.low + i * step);
  }
}

void rule_log(Ruler& ruler, double low, double high) {
  const int first = static_cast<int>(std::floor(std::log10(std::max(low, kLogMin)) + 1e-9));
  int last = static_cast<int>(std::ceil(std::log10(std::max(high, kLogMin)) - 1e-9));
  last = std::max(last, first + 1);
  ruler.low = std::pow(10, first);
  ruler.high = std::pow(10, last);
  for (int power = first; power <= last; ++power) {
    ruler.ticks.push_back(std::pow(10, power));
    if (power == last || last - first > 3) continue;
    for (const double digit : {2.0, 5.0}) ruler.ticks.push_back(digit * std::pow(10, power));
  }
}

bool is_finite(const Point& point) { return std::isfinite(point.x) && std::isfinite(point.y); }

Ruler ruler_for(const Plot& plot, const Axis& axis, double Point::*part) {
  double low = INFINITY;
  double high = -INFINITY;
  const auto include = [&](double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  };
  for (const Series& series : plot.series) {
    for (const Point& point : series.points) {
      if (is_finite(point)) include(point.*part);
    }
  }
  if (axis.limit) include(*axis.limit);
  if (low > high) low = high = 1;
  Ruler ruler{.scale = axis.scale, .ticks = {}};
  axis.scale == Scale::kLog ? rule_log(ruler, low, high) : rule_linear(ruler, low, high);
  return ruler;
}

void draw_line(std::string& out, std::string_view kind, Point a, Point b) {
  fmt::format_to(std::back_inserter(out),
                 "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                 kind, a.x, a.y, b.x, b.y);
}

void draw_text(std::string& out, Point at, std::string_view anchor, std::string_view text) {
  fmt::format_to(std::back_inserter(out),
                 "<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
                 at.x, at.y, anchor, escape_html(text));
}

void draw_axes(std::string& out, const Plot& plot, const Ruler& x, const Ruler& y) {
  for (const double tick : x.ticks) {
    const double at = x.place(tick);
    draw_line(out, "grid", {at, kTop}, {at, kHeight - kBottom});
    draw_text(out, {at, kHeight - kBottom + 16}, "middle", fmt::format("{:.6g}", tick));
  }
  for (const double tick : y.ticks) {
    const double at = y.place(tick);
    draw_line(out, "grid", {kLeft, at}, {kWidth - kRight, at});
    draw_text(out, {kLeft - 6, at + 4}, "end", fmt::format("{:.6g}", tick));
  }
  draw_line(out, "axis", {kLeft, kHeight - kBottom}, {kWidth - kRight, kHeight - kBottom});
  draw_line(out, "axis", {kLeft, kTop}, {kLeft, kHeight - kBottom});
  draw_text(out, {(kLeft + kWidth - kRight) / 2, kHeight - 10}, "middle", plot.x.label);
  const double middle = (kTop + kHeight - kBottom) / 2;
  fmt::format_to(std::back_inserter(out),
                 "<text class=\"label\" transform=\"rotate(-90 14 {0:.1f})\" x=\"14\" "
                 "y=\"{0:.1f}\" text-anchor=\"middle\">{1}</text>\n",
                 middle, escape_html(plot.y.label));
  if (plot.x.limit) {
    const double at = x.place(*plot.x.limit);
    draw_line(out, "limit", {at, kTop}, {at, kHeight - kBottom});
  }
  if (plot.y.limit) {
    const double at = y.place(*plot.y.limit);
    draw_line(out, "limit", {kLeft, at}, {kWidth - kRight, at});
  }
}

void draw_series(std::string& out, const Series& series, const Ruler& x, const Ruler& y) {
  std::string path;
  for (const Point& point : series.points) {
    if (!is_finite(point)) continue;
    const double px = x.place(point.x);
    const double py = y.place(point.y);
    if (series.mark == Mark::kDots) {
      fmt::format_to(std::back_inserter(path), "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\"/>", px,
                     py);
    } else {
      fmt::format_to(std::back_inserter(path), "{}{:.1f},{:.1f}", path.empty() ? "" : " ", px, py);
    }
  }
  if (path.empty()) return;
  const std::string name = escape_html(series.label);
  if (series.mark == Mark::kDots) {
    fmt::format_to(std::back_inserter(out), "<g class=\"dots s{}\"><title>{}</title>{}</g>\n",
                   series.color, name, path);
  } else {
    fmt::format_to(std::back_inserter(out),
                   "<polyline class=\"line{} s{}\" points=\"{}\"><title>{}</title></polyline>\n",
                   series.mark == Mark::kDashed ? " dashed" : "", series.color, path, name);
  }
}

}  // namespace

bool Plot::empty() const {
  return std::all_of(series.begin(), series.end(), [](const Series& s) {
    return std::none_of(s.points.begin(), s.points.end(), is_finite);
  });
}

std::string render_svg(const Plot& plot) {
  Ruler x = ruler_for(plot, plot.x, &Point::x);
  x.begin = kLeft;
  x.end = kWidth - kRight;
  Ruler y = ruler_for(plot, plot.y, &Point::y);
  y.begin = kHeight - kBottom;
  y.end = kTop;
  std::string out = fmt::format("<svg viewBox=\"0 0 {:g} {:g}\" role=\"img\" aria-label=\"{}\">\n",
                                kWidth, kHeight, escape_html(plot.title));
  draw_axes(out, plot, x, y);
  for (const Series& series : plot.series) draw_series(out, series, x, y);
  return out + "</svg>\n";
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace fairlead::workload
