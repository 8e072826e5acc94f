// The metric vllm:lora_requests_info: which adapters have requests, in labels; the value is when
// that was last so. vLLM 0.20 names every adapter with a request in both lists, whether the request
// runs or waits, and keeps one series for each set of adapters there ever was: readers take the one
// with the largest value. One loop.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "obs/metrics.h"

namespace fairlead::engine {

class LoraInfo {
 public:
  // vLLM's grow without bound; of ours the series that was longest not true makes place.
  static constexpr size_t kSeriesMax = 256;

  // `registry` must not be asked after this is gone.
  LoraInfo(obs::Registry& registry, uint32_t max_loras);

  // `adapters`: names joined by commas, empty if there are none.
  void record(const std::string& adapters, base::WallTime now);

 private:
  struct Series {
    std::string adapters;
    double at = 0;  // Unix time
  };
  const std::string max_loras_;
  std::vector<Series> series_;
};

}  // namespace fairlead::engine
