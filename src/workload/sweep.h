// SweepSearch: which loads a sweep tries, to find the highest one that keeps its limits.
//
// It doubles from the lowest until a trial misses, then halves the interval on a logarithmic scale
// until its ends are within 5 % of each other (or one apart, where only whole numbers make sense).
// That takes the fewest trials without knowing the order of magnitude; a linear grid was rejected,
// for it wants a range close to the answer. Trials are noisy: one miss ends the doubling, so the
// answer is a load that was kept below one that was not. Pure.
//
//   SweepSearch search({.min = 1, .max = 1000});
//   while (const auto load = search.next()) kept(*load) ? search.kept() : search.missed();
//   search.best();  // nothing if even the lowest missed
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workload/report.h"

namespace fairlead::workload {

enum class SweepScale : uint8_t { kReal, kWhole };

struct SweepOptions {
  double min = 1;
  double max = 1000;
  SweepScale scale = SweepScale::kReal;
};

class SweepSearch {
 public:
  static constexpr double kPrecision = 0.05;

  // 0 < min <= max; of kWhole both are rounded inwards.
  explicit SweepSearch(SweepOptions options);

  // The load to try; the same until it is answered by kept() or missed(). Nothing when done.
  std::optional<double> next() const { return next_; }
  void kept();
  void missed();
  std::optional<double> best() const { return best_; }

 private:
  void choose();

  SweepOptions options_;
  std::optional<double> next_;
  std::optional<double> best_;    // the highest that was kept
  std::optional<double> missed_;  // the lowest that was not
};

struct SweepTrial {
  double load = 0;
  bool kept = false;
  Report report;
};

// A sweep of one target, in the order of its trials.
struct Sweep {
  std::string label;
  std::vector<SweepTrial> trials;
  std::optional<double> best;

  // Of the best load; of the first trial where none was kept. Nothing without trials.
  const Report* report() const;
};

// A line a trial, by load; `unit` is "requests/s" or "clients".
std::string render_sweep(const Sweep& sweep, std::string_view unit);
void write_json(codec::JsonWriter& json, const Sweep& sweep);

}  // namespace fairlead::workload
