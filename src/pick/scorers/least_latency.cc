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
  // 0 for the highest, 100 for the lowest.
  double score(base::Nanos value) const {
    if (high == low) return 100;
    return 100.0 * static_cast<double>((high - value).count()) /
           static_cast<double>((high - low).count());
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
  for (const Slot slot : slots) {
    const Latency latency = context.columns.latency(slot);
    // Clamped: a scrape may have changed it between the two passes.
    const double score = ttft_share_ * std::clamp(ttft.score(latency.ttft), 0.0, 100.0) +
                         (1 - ttft_share_) * std::clamp(tpot.score(latency.tpot), 0.0, 100.0);
    scores[slot] = measured(latency) ? static_cast<float>(whole(score)) : kUnmeasured;
  }
}

}  // namespace fairlead::pick
