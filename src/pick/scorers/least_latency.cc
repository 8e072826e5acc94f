#include "pick/scorers/least_latency.h"

#include <fmt/format.h>

#include <algorithm>

#include "pick/scorers/whole.h"

namespace fairlead::pick {
namespace {

constexpr float kUnmeasured = 50;

struct Range {
  base::Nanos low = base::Nanos::max();
  base::Nanos high{0};

  void add(base::Nanos value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // Points lost for each nanosecond above the lowest: the highest loses a hundred.
  double points() const {
    return high > low ? 100.0 / static_cast<double>((high - low).count()) : 0;
  }
};

bool measured(const Latency& latency) {
  return latency.ttft > base::Nanos(0) && latency.tpot > base::Nanos(0);
}

}  // namespace

base::Result<> LeastLatencyOptions::validate() const {
  if (ttft_share >= 0 && ttft_share <= 1) return {};
  return base::invalid_argument(
      fmt::format("share of the time to first token is {}, allowed are 0 to 1", ttft_share));
}

LeastLatencyScorer::LeastLatencyScorer(LeastLatencyOptions options)
    : ttft_share_(options.ttft_share) {
  CHECK(options.validate().ok(), "least latency options were not validated");
}

void LeastLatencyScorer::score(const Context& context, std::span<const Slot> slots,
                               Scores& scores) const {
  Range ttft;
  Range tpot;
  for (const Slot slot : slots) {
    const Latency latency = context.columns.latency(slot);
    if (!measured(latency)) continue;
    ttft.add(latency.ttft);
    tpot.add(latency.tpot);
  }
  const double ttft_points = ttft_share_ * ttft.points();
  const double tpot_points = (1 - ttft_share_) * tpot.points();
  for (const Slot slot : slots) {
    const Latency latency = context.columns.latency(slot);
    const double lost = ttft_points * static_cast<double>((latency.ttft - ttft.low).count()) +
                        tpot_points * static_cast<double>((latency.tpot - tpot.low).count());
    // Clamped: a scrape may have changed it between the two passes.
    const double score = std::clamp(100 - lost, 0.0, 100.0);
    scores[slot] = measured(latency) ? static_cast<float>(whole(score)) : kUnmeasured;
  }
}

}  // namespace fairlead::pick
