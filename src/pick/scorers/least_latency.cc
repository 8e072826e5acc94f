#include "pick/scorers/least_latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "pick/whole.h"

namespace fairlead::pick {
namespace {

constexpr float kUnmeasured = 50;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;

  // Of NaN neither changes; an instruction each, as a pick adds thousands.
  void add(double ns) {
    low = std::min(low, ns);
    high = std::max(high, ns);
  }
  void add(const Range& other) {
    low = std::min(low, other.low);
    high = std::max(high, other.high);
  }
  // Where nothing was measured, nothing is far from it.
  double lowest() const { return high > 0 ? low : 0; }
  // Points lost for each nanosecond above the lowest: the highest loses a hundred.
  double points() const { return high > low ? 100.0 / (high - low) : 0; }
};

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
  const Columns& columns = context.columns;
  Range ttft;
  Range tpot;
  const auto add = [&](Slot slot, Range& to_first, Range& an_output) {
    to_first.add(columns.ttft_ns(slot));
    an_output.add(columns.tpot_ns(slot));
  };
  // Every second one by itself: a minimum waits for the one before.
  Range odd_ttft;
  Range odd_tpot;
  size_t i = 0;
  for (; i + 1 < slots.size(); i += 2) {
    add(slots[i], ttft, tpot);
    add(slots[i + 1], odd_ttft, odd_tpot);
  }
  if (i < slots.size()) add(slots[i], ttft, tpot);
  ttft.add(odd_ttft);
  tpot.add(odd_tpot);
  const double ttft_points = ttft_share_ * ttft.points();
  const double tpot_points = (1 - ttft_share_) * tpot.points();
  const double ttft_low = ttft.lowest();
  const double tpot_low = tpot.lowest();
  for (const Slot slot : slots) {
    const double ttft_ns = columns.ttft_ns(slot);
    const double lost =
        ttft_points * (ttft_ns - ttft_low) + tpot_points * (columns.tpot_ns(slot) - tpot_low);
    // Bounded: a scrape may have changed it between the two passes.
    const double score = whole(std::max(0.0, std::min(100.0, 100 - lost)));
    scores[slot] = std::isnan(ttft_ns) ? kUnmeasured : static_cast<float>(score);
  }
}

}  // namespace fairlead::pick
