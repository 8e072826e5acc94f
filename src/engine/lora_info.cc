#include "engine/lora_info.h"

#include <algorithm>

namespace fairlead::engine {

LoraInfo::LoraInfo(obs::Registry& registry, uint32_t max_loras)
    : max_loras_(std::to_string(max_loras)) {
  registry.callback(obs::MetricType::kGauge, "vllm:lora_requests_info",
                    "Running stats on lora requests.",
                    {"max_lora", "running_lora_adapters", "waiting_lora_adapters"},
                    [this](obs::Samples& samples) {
                      for (const Series& s : series_) {
                        samples.add({max_loras_, s.adapters, s.adapters}, s.at);
                      }
                    });
}

void LoraInfo::record(const std::string& adapters, base::WallTime now) {
  const double at = std::chrono::duration<double>(now.time_since_epoch()).count();
  const auto same = std::find_if(series_.begin(), series_.end(),
                                 [&](const Series& s) { return s.adapters == adapters; });
  if (same != series_.end()) {
    same->at = at;
    return;
  }
  if (series_.size() == kSeriesMax) {
    series_.erase(std::min_element(series_.begin(), series_.end(),
                                   [](const Series& a, const Series& b) { return a.at < b.at; }));
  }
  series_.push_back({adapters, at});
}

}  // namespace fairlead::engine
