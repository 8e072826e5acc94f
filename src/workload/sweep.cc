#include "workload/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "workload/table.h"

namespace fairlead::workload {

SweepSearch::SweepSearch(SweepOptions options) : options_(options) {
  if (options_.scale == SweepScale::kWhole) {
    options_.min = std::ceil(options_.min);
    options_.max = std::max(std::floor(options_.max), options_.min);
  }
  CHECK(options_.min > 0 && options_.min <= options_.max, "a sweep needs an interval above zero");
  next_ = options_.min;
}

void SweepSearch::kept() {
  CHECK(next_.has_value(), "no trial is under way");
  best_ = next_;
  choose();
}

void SweepSearch::missed() {
  CHECK(next_.has_value(), "no trial is under way");
  missed_ = next_;
  choose();
}

void SweepSearch::choose() {
  next_.reset();
  if (!best_) return;  // the lowest missed: there is nothing below it
  if (!missed_) {
    if (*best_ < options_.max) next_ = std::min(*best_ * 2, options_.max);
    return;
  }
  if (*missed_ <= *best_ * (1 + kPrecision)) return;
  double middle = std::sqrt(*best_ * *missed_);
  if (options_.scale == SweepScale::kWhole) {
    if (*missed_ - *best_ <= 1) return;
    middle = std::clamp(std::round(middle), *best_ + 1, *missed_ - 1);
  }
  next_ = middle;
}

const Report* Sweep::report() const {
  for (const SweepTrial& trial : trials) {
    if (trial.load == best) return &trial.report;
  }
  return trials.empty() ? nullptr : &trials.front().report;
}

std::string render_sweep(const Sweep& sweep, std::string_view unit) {
  std::vector<const SweepTrial*> trials;
  for (const SweepTrial& trial : sweep.trials) trials.push_back(&trial);
  std::sort(trials.begin(), trials.end(),
            [](const auto* a, const auto* b) { return a->load < b->load; });
  std::vector<std::vector<std::string>> cells = {{std::string(unit), "answered", "within limits",
                                                  "goodput", "TTFT p50", "TTFT p99", "ITL p99",
                                                  "errors", ""}};
  for (const SweepTrial* trial : trials) {
    const Report& r = trial->report;
    const Goodput goodput = r.goodput.value_or(Goodput{});
    cells.push_back(
        {fmt::format("{:.4g}", trial->load), fmt::format("{:.1f} /s", r.requests_per_s),
         fmt::format("{:.1f} %", goodput.share * 100),
         fmt::format("{:.1f} /s", goodput.requests_per_s), fmt::format("{:.1f} ms", r.ttft.p50_ms),
         fmt::format("{:.1f} ms", r.ttft.p99_ms), fmt::format("{:.1f} ms", r.gap.p99_ms),
         fmt::format("{}", r.errors), trial->kept ? "kept" : "missed"});
  }
  return align_columns(cells);
}

void write_json(codec::JsonWriter& json, const Sweep& sweep) {
  json.begin_object().key("label").string(sweep.label).key("best");
  sweep.best ? json.number(*sweep.best) : json.null();
  json.key("trials").begin_array();
  for (const SweepTrial& trial : sweep.trials) {
    json.begin_object().key("load").number(trial.load).key("kept").boolean(trial.kept);
    json.key("report");
    write_json(json, trial.report);
    json.end_object();
  }
  json.end_array().end_object();
}

}  // namespace fairlead::workload
