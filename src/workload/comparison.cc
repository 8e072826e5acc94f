#include "workload/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"
#include "workload/table.h"

namespace fairlead::workload {
namespace {

// What the two experiments promise; percent are shares of one.
constexpr double kWarmMin = 0.90;
constexpr double kRepeatTtftRatioMax = 0.5;
constexpr double kShareMax = 0.60;
constexpr double kOverloadTtftRatioMax = 1.25;

enum class Unit { kCount, kMs, kPerSecond, kShare };

struct Row {
  std::string name;
  Unit unit;
  std::function<std::optional<double>(const Report&)> value;
};

std::string format_value(std::optional<double> value, Unit unit) {
  if (!value) return "-";
  switch (unit) {
    case Unit::kCount:
      return fmt::format("{:.0f}", *value);
    case Unit::kMs:
      return fmt::format("{:.{}f} ms", *value, *value < 10 ? 3 : 1);
    case Unit::kPerSecond:
      return fmt::format("{:.1f} /s", *value);
    case Unit::kShare:
      return fmt::format("{:.1f} %", *value * 100);
  }
  return "-";
}

std::string format_ratio(std::optional<double> value, std::optional<double> base, Unit unit) {
  if (!value || !base || *base == 0 || unit == Unit::kCount) return "";
  return fmt::format("{:.2f} x", *value / *base);
}

struct Part {
  std::string_view name;
  double Quantiles::*field;
};
constexpr Part kMean{"mean", &Quantiles::mean_ms};
constexpr Part kP50{"p50", &Quantiles::p50_ms};
constexpr Part kP90{"p90", &Quantiles::p90_ms};
constexpr Part kP95{"p95", &Quantiles::p95_ms};
constexpr Part kP99{"p99", &Quantiles::p99_ms};
constexpr Part kMax{"max", &Quantiles::max_ms};
constexpr Part kAllParts[] = {kMean, kP50, kP90, kP95, kP99};
constexpr Part kBreakdownParts[] = {kP50, kP90, kP99};
constexpr Part kPauseParts[] = {kP50, kP99, kMax};

void add_quantiles(std::vector<Row>& rows, std::string_view name, Quantiles Report::*member,
                   std::span<const Part> parts) {
  for (const Part& part : parts) {
    rows.push_back({fmt::format("{} {}", name, part.name), Unit::kMs,
                    [member, field = part.field](const Report& r) -> std::optional<double> {
                      if ((r.*member).count == 0) return std::nullopt;
                      return (r.*member).*field;
                    }});
  }
}

void add_goodput(std::vector<Row>& rows) {
  rows.push_back({"goodput", Unit::kPerSecond, [](const Report& r) -> std::optional<double> {
                    if (!r.goodput) return std::nullopt;
                    return r.goodput->requests_per_s;
                  }});
  rows.push_back({"  within limits", Unit::kShare, [](const Report& r) -> std::optional<double> {
                    if (!r.goodput) return std::nullopt;
                    return r.goodput->share;
                  }});
}

void add_client(std::vector<Row>& rows) {
  rows.push_back({"client CPU", Unit::kShare, [](const Report& r) -> std::optional<double> {
                    if (!r.client) return std::nullopt;
                    return r.client->cpu;
                  }});
  rows.push_back({"  waiting for CPU", Unit::kShare, [](const Report& r) -> std::optional<double> {
                    if (!r.client) return std::nullopt;
                    return r.client->waiting;
                  }});
}

std::optional<double> busiest(const Report& report) {
  if (report.replicas.empty()) return std::nullopt;
  return report.share_max();
}

void add_replicas(std::vector<Row>& rows, std::span<const Report> reports) {
  size_t most = 0;
  for (const auto& report : reports) most = std::max(most, report.replicas.size());
  constexpr size_t kListed = 8;  // a larger fleet shows its extremes only
  rows.push_back({"busiest replica", Unit::kShare, busiest});
  if (most < 2 || most > kListed) return;
  for (size_t i = 0; i < most; ++i) {
    rows.push_back({fmt::format("  replica {}", i + 1), Unit::kShare,
                    [i](const Report& r) -> std::optional<double> {
                      if (i >= r.replicas.size()) return std::nullopt;
                      return r.replicas[i].share;
                    }});
  }
}

void add_errors(std::vector<Row>& rows, std::span<const Report> reports) {
  rows.push_back({"errors", Unit::kCount, [](const Report& r) { return double(r.errors); }});
  std::map<std::string, uint64_t> kinds;
  for (const auto& report : reports) {
    kinds.insert(report.errors_by_kind.begin(), report.errors_by_kind.end());
  }
  for (const auto& [kind, unused] : kinds) {
    rows.push_back({fmt::format("  {}", kind), Unit::kCount, [kind = kind](const Report& r) {
                      const auto it = r.errors_by_kind.find(kind);
                      return it == r.errors_by_kind.end() ? 0.0 : static_cast<double>(it->second);
                    }});
  }
}

std::vector<Row> rows_of(std::span<const Report> reports) {
  std::vector<Row> rows;
  rows.push_back({"requests", Unit::kCount, [](const Report& r) { return double(r.requests); }});
  add_errors(rows, reports);
  rows.push_back({"requests", Unit::kPerSecond, [](const Report& r) { return r.requests_per_s; }});
  rows.push_back(
      {"output tokens", Unit::kPerSecond, [](const Report& r) { return r.output_tokens_per_s; }});
  add_goodput(rows);
  add_quantiles(rows, "TTFT", &Report::ttft, kAllParts);
  add_quantiles(rows, "  first visits", &Report::ttft_first, kBreakdownParts);
  add_quantiles(rows, "  repeats", &Report::ttft_repeat, kBreakdownParts);
  add_quantiles(rows, "ITL", &Report::gap, kAllParts);
  add_quantiles(rows, "largest pause", &Report::pause, kPauseParts);
  add_quantiles(rows, "end to end", &Report::whole, kAllParts);
  rows.push_back(
      {"cached prompt tokens", Unit::kShare, [](const Report& r) { return r.cached_ratio; }});
  rows.push_back(
      {"repeats to a warm replica", Unit::kShare, [](const Report& r) { return r.repeats_warm; }});
  add_replicas(rows, reports);
  add_client(rows);
  // A row that nobody has a value for says nothing.
  std::erase_if(rows, [&](const Row& row) {
    return std::none_of(reports.begin(), reports.end(),
                        [&](const Report& r) { return row.value(r).has_value(); });
  });
  return rows;
}

Check at_least(std::string claim, std::optional<double> measured, double wanted) {
  return {.claim = std::move(claim),
          .measured = format_value(measured, Unit::kShare),
          .wanted = "at least " + format_value(wanted, Unit::kShare),
          .passed = measured && *measured >= wanted};
}

Check at_most(std::string claim, std::optional<double> measured, double wanted) {
  return {.claim = std::move(claim),
          .measured = format_value(measured, Unit::kShare),
          .wanted = "at most " + format_value(wanted, Unit::kShare),
          .passed = measured && *measured <= wanted};
}

Check ratio_check(std::string claim, const Quantiles& base, const Quantiles& value, double wanted) {
  Check check{.claim = std::move(claim),
              .measured = "-",
              .wanted = fmt::format("at most {:.2f} x", wanted),
              .passed = false};
  if (base.count == 0 || value.count == 0 || base.p90_ms <= 0) return check;
  const double ratio = value.p90_ms / base.p90_ms;
  check.measured = fmt::format("{:.2f} x", ratio);
  check.passed = ratio <= wanted;
  return check;
}

Check no_errors(const Report& baseline, const Report& candidate) {
  const uint64_t errors = baseline.errors + candidate.errors;
  return {.claim = "errors",
          .measured = fmt::format("{}", errors),
          .wanted = "none",
          .passed = errors == 0 && candidate.requests > 0};
}

}  // namespace

std::string render_table(std::span<const Report> reports) {
  CHECK(!reports.empty(), "a table needs a report");
  std::vector<std::vector<std::string>> cells(1, {""});
  for (size_t i = 0; i < reports.size(); ++i) {
    cells[0].push_back(reports[i].label);
    if (i > 0) cells[0].push_back("ratio");
  }
  for (const Row& row : rows_of(reports)) {
    auto& line = cells.emplace_back(std::vector<std::string>{row.name});
    const auto base = row.value(reports[0]);
    for (size_t i = 0; i < reports.size(); ++i) {
      const auto value = row.value(reports[i]);
      line.push_back(format_value(value, row.unit));
      if (i > 0) line.push_back(format_ratio(value, base, row.unit));
    }
  }
  return align_columns(cells);
}

std::string render_checks(std::span<const Check> checks) {
  if (checks.empty()) return "";
  std::vector<std::vector<std::string>> cells(1, {"", "measured", "wanted", ""});
  for (const Check& check : checks) {
    cells.push_back({check.claim, check.measured, check.wanted, check.passed ? "ok" : "MISSED"});
  }
  return align_columns(cells);
}

std::vector<Check> affinity_checks(const Report& baseline, const Report& candidate) {
  return {
      no_errors(baseline, candidate),
      at_least(candidate.label + ": repeats to a warm replica", candidate.repeats_warm, kWarmMin),
      ratio_check(fmt::format("TTFT p90 of repeats against {}", baseline.label),
                  baseline.ttft_repeat, candidate.ttft_repeat, kRepeatTtftRatioMax),
      at_most(candidate.label + ": busiest replica", busiest(candidate), kShareMax)};
}

std::vector<Check> overload_checks(const Report& baseline, const Report& candidate) {
  return {no_errors(baseline, candidate),
          at_most(candidate.label + ": busiest replica", busiest(candidate), kShareMax),
          ratio_check(fmt::format("TTFT p90 against {}", baseline.label), baseline.ttft,
                      candidate.ttft, kOverloadTtftRatioMax)};
}

}  // namespace fairlead::workload
