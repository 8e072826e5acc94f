#include "bench/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "bench/render.h"
#include "bench/sweep.h"
#include "workload/comparison.h"
#include "workload/plot.h"

namespace fairlead::bench {
namespace {

using workload::Axis;
using workload::escape_html;
using workload::Mark;
using workload::Plot;
using workload::Point;
using workload::Report;
using workload::Scale;
using workload::Series;

// Colours of the series: told apart on white and on black.
constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --bg: #ffffff; --fg: #1c2128; --dim: #59636e; --grid: #dfe3e8;
  --limit: #cf222e; --s0: #0b62c4; --s1: #c2570c; --s2: #1a7f37; --s3: #8250df; --s4: #b0106a;
  --s5: #0e7c86; --s6: #7d6200; --s7: #57606a; }
@media (prefers-color-scheme: dark) { :root { --bg: #14181d; --fg: #e3e8ee; --dim: #9aa5b1;
  --grid: #2e353d; --limit: #ff7b72; --s0: #6cb0ff; --s1: #ffa45c; --s2: #5fd17f; --s3: #c6a0ff;
  --s4: #ff7bb8; --s5: #4fd0dc; --s6: #e0c04c; --s7: #b3bcc6; } }
body { margin: 2rem auto; max-width: 84rem; padding: 0 1rem; background: var(--bg);
  color: var(--fg); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(36rem, 100%), 1fr)); gap: 1.5rem; }
figure { margin: 0; } figcaption { font-weight: 600; } figcaption small { font-weight: 400;
  color: var(--dim); }
svg { width: 100%; height: auto; }
.axis { stroke: var(--dim); } .grid { stroke: var(--grid); } .label { fill: var(--dim);
  font: 12px system-ui, sans-serif; }
.limit { stroke: var(--limit); stroke-dasharray: 2 4; stroke-width: 1.5; }
.line { fill: none; stroke-width: 2; } .dashed { stroke-dasharray: 6 4; } .dots { fill-opacity: .6; }
.scroll { overflow-x: auto; } pre { font: 13px/1.45 ui-monospace, monospace; }
.warning { border-left: 4px solid var(--limit); padding-left: .8rem; white-space: pre-line; }
ul.legend { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .3rem 1.5rem; }
.swatch { display: inline-block; width: 1em; height: .6em; margin-right: .5em; }
)";

std::string style() {
  std::string text(kStyle);
  for (size_t i = 0; i < kTargetsMax; ++i) {
    text += fmt::format(
        ".line.s{0} {{ stroke: var(--s{0}); }} .dots.s{0} {{ fill: var(--s{0}); }} "
        ".swatch.s{0} {{ background: var(--s{0}); }}\n",
        i);
  }
  return text;
}

std::string figure(const Plot& plot, std::string_view note) {
  if (plot.empty()) return "";
  return fmt::format("<figure><figcaption>{} <small>{}</small></figcaption>\n{}</figure>\n",
                     escape_html(plot.title), escape_html(note), workload::render_svg(plot));
}

std::vector<Series> series_of(const std::vector<Report>& reports,
                              std::vector<Point> workload::Curves::*curve, Mark mark) {
  std::vector<Series> series;
  for (size_t i = 0; i < reports.size(); ++i) {
    series.push_back(
        {.label = reports[i].label, .points = reports[i].curves.*curve, .mark = mark, .color = i});
  }
  return series;
}

std::optional<double> limit_ms(const std::optional<base::Nanos>& limit) {
  if (!limit) return std::nullopt;
  return base::to_ms(*limit);
}

std::string run_plots(const BenchConfig& config, const std::vector<Report>& reports) {
  using workload::Curves;
  const auto distribution = [&](std::string title, std::vector<Point> Curves::*curve,
                                std::string_view of, std::optional<double> limit) {
    return Plot{.title = std::move(title),
                .x = {.label = "ms (logarithmic)", .scale = Scale::kLog, .limit = limit},
                .y = {.label = fmt::format("% of {} within", of), .limit = std::nullopt},
                .series = series_of(reports, curve, Mark::kLine)};
  };
  const Plot over_time{.title = "TTFT over the run",
                       .x = {.label = "start of the request, s", .limit = std::nullopt},
                       .y = {.label = "ms (logarithmic)",
                             .scale = Scale::kLog,
                             .limit = limit_ms(config.ttft_limit)},
                       .series = series_of(reports, &Curves::ttft_over_time, Mark::kDots)};
  return "<div class=\"plots\">\n" +
         figure(distribution("Time to first token", &Curves::ttft, "answers",
                             limit_ms(config.ttft_limit)),
                "to the left is better") +
         figure(distribution("Time between tokens", &Curves::itl, "gaps", std::nullopt),
                "to the left is better") +
         figure(distribution("Whole answers", &Curves::whole, "answers", std::nullopt),
                "to the left is better") +
         figure(over_time, "a dot is an answer") + "</div>\n";
}

// A line through the trials of every sweep, by load.
std::vector<Series> sweep_series(const std::vector<workload::Sweep>& sweeps, Mark mark,
                                 double (*value)(const Report&)) {
  std::vector<Series> series;
  for (size_t i = 0; i < sweeps.size(); ++i) {
    Series line{.label = sweeps[i].label, .points = {}, .mark = mark, .color = i};
    for (const auto& trial : sweeps[i].trials) {
      line.points.push_back({.x = trial.load, .y = value(trial.report)});
    }
    std::sort(line.points.begin(), line.points.end(),
              [](const Point& a, const Point& b) { return a.x < b.x; });
    series.push_back(std::move(line));
  }
  return series;
}

std::string sweep_plots(const BenchConfig& config, const std::vector<workload::Sweep>& sweeps) {
  if (sweeps.empty()) return "";
  const Axis load{.label = fmt::format("{} (logarithmic)", sweep_unit(config)),
                  .scale = Scale::kLog,
                  .limit = std::nullopt};
  const Plot kept{.title = "Within the limits",
                  .x = load,
                  .y = {.label = "% of requests", .limit = config.keep * 100},
                  .series = sweep_series(sweeps, Mark::kLine, [](const Report& r) {
                    return r.goodput ? r.goodput->share * 100 : 0.0;
                  })};
  Plot ttft{
      .title = "Time to first token by load",
      .x = load,
      .y = {.label = "ms (logarithmic)",
            .scale = Scale::kLog,
            .limit = limit_ms(config.ttft_limit)},
      .series = sweep_series(sweeps, Mark::kLine, [](const Report& r) { return r.ttft.p99_ms; })};
  for (Series& median :
       sweep_series(sweeps, Mark::kDashed, [](const Report& r) { return r.ttft.p50_ms; })) {
    ttft.series.push_back(std::move(median));
  }
  return "<h2>Sweep</h2>\n<div class=\"plots\">\n" + figure(kept, "dotted: what had to be kept") +
         figure(ttft, "whole: p99, dashed: p50, dotted: the limit") + "</div>\n";
}

std::string legend(const std::vector<Report>& reports) {
  if (reports.size() < 2) return "";
  std::string items;
  for (size_t i = 0; i < reports.size(); ++i) {
    items += fmt::format("<li><span class=\"swatch s{}\"></span>{}</li>\n", i,
                         escape_html(reports[i].label));
  }
  return fmt::format("<ul class=\"legend\">\n{}</ul>\n", items);
}

std::string numbers(std::string_view title, std::string_view text) {
  if (text.empty()) return "";
  return fmt::format("<h2>{}</h2>\n<div class=\"scroll\"><pre>{}</pre></div>\n", title,
                     escape_html(text));
}

}  // namespace

std::string render_html(const BenchConfig& config, const Results& results) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<title>fairlead bench</title>\n<style>";
  out += style() + "</style>\n</head>\n<body>\n<h1>fairlead bench</h1>\n";
  out += fmt::format("<p style=\"white-space: pre-line\">{}</p>\n",
                     escape_html(setting_text(config, results)));
  if (results.interrupted) out += "<p class=\"warning\">The run was interrupted.</p>\n";
  const std::string warnings = client_warnings(results.reports) + client_warnings(results.overload);
  if (!warnings.empty()) out += fmt::format("<p class=\"warning\">{}</p>\n", escape_html(warnings));
  out += legend(results.reports) + sweep_plots(config, results.sweeps);
  if (!results.sweeps.empty()) out += "<h2>At the load found, or the lowest tried</h2>\n";
  if (!results.reports.empty()) {
    out += run_plots(config, results.reports);
    out += numbers("Numbers", workload::render_table(results.reports));
  }
  out += numbers("Trials", sweeps_text(config, results.sweeps));
  if (!results.overload.empty()) {
    out += "<h2>Overload: one prefix</h2>\n" + run_plots(config, results.overload);
    out += numbers("Numbers under overload", workload::render_table(results.overload));
  }
  out += numbers("Verdict", workload::render_checks(results.checks));
  return out + "</body>\n</html>\n";
}

}  // namespace fairlead::bench
