#include "workload/goodput.h"

namespace fairlead::workload {

std::optional<base::Nanos> mean_itl(const Sample& sample) {
  if (sample.output_tokens < 2 || sample.first_token <= base::Nanos(0)) return std::nullopt;
  return (sample.last_token - sample.first_token) / (sample.output_tokens - 1);
}

bool keeps(const Limits& limits, const Sample& sample) {
  if (sample.outcome != Outcome::kOk) return false;
  const bool came = sample.first_token > base::Nanos(0);
  if (limits.ttft && (!came || sample.first_token > *limits.ttft)) return false;
  const auto itl = mean_itl(sample);
  return !limits.itl || !itl || *itl <= *limits.itl;
}

}  // namespace fairlead::workload
