#include "workload/curves.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace fairlead::workload {
namespace {

// Every percent, and where tails live.
std::vector<double> shares() {
  std::vector<double> shares;
  for (int percent = 0; percent < 100; ++percent) shares.push_back(percent / 100.0);
  for (const double share : {0.995, 0.999, 1.0}) shares.push_back(share);
  return shares;
}

std::vector<Point> distribution(const std::function<base::Nanos(double)>& quantile) {
  std::vector<Point> points;
  for (const double share : shares()) {
    points.push_back({.x = base::to_ms(quantile(share)), .y = share * 100});
  }
  return points;
}

std::vector<Point> distribution_of(std::vector<base::Nanos> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return distribution([&](double share) {
    const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(values.size())));
    return values[std::max<size_t>(rank, 1) - 1];
  });
}

}  // namespace

Curves make_curves(const RunLog& log) {
  Curves curves;
  std::vector<base::Nanos> ttft;
  std::vector<base::Nanos> whole;
  std::vector<const Sample*> dots;
  for (const Sample& sample : log.samples) {
    if (sample.outcome != Outcome::kOk) continue;
    whole.push_back(sample.whole);
    if (sample.first_token <= base::Nanos(0)) continue;
    ttft.push_back(sample.first_token);
    dots.push_back(&sample);
  }
  curves.ttft = distribution_of(std::move(ttft));
  curves.whole = distribution_of(std::move(whole));
  if (log.gaps.count() > 0) {
    curves.itl = distribution([&](double share) { return log.gaps.quantile(share); });
  }
  const size_t step = (dots.size() + Curves::kDotsMax - 1) / Curves::kDotsMax;
  for (size_t i = 0; i < dots.size(); i += step) {
    curves.ttft_over_time.push_back(
        {.x = base::to_seconds(dots[i]->started), .y = base::to_ms(dots[i]->first_token)});
  }
  return curves;
}

}  // namespace fairlead::workload
