// The metrics of vLLM 0.20 under its names, with its labels, buckets and help, in the text form of
// Python's client library.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "engine/config.h"
#include "engine/lora_info.h"
#include "engine_model/types.h"
#include "obs/metrics.h"
#include "protocol/engine_metrics.h"

namespace fairlead::engine {

// In the order of protocol::kFinishedReasons.
enum class FinishedReason : uint8_t { kStop, kLength, kAbort, kError, kRepetition };

class EngineMetrics {
 public:
  // Registers everything; `registry` prints in Style::kPython and outlives this.
  EngineMetrics(obs::Registry& registry, const EngineConfig& config);

  // After each step: what it computed, and where the engine stands.
  void step(uint32_t tokens, const engine_model::Counters& counters);
  void load(const engine_model::Load& load) const;
  // Per token.
  void first_token(base::Nanos since_arrival) const {
    time_to_first_token_.observe(base::to_seconds(since_arrival));
  }
  void inter_token(base::Nanos gap) const { inter_token_.observe(base::to_seconds(gap)); }
  // Per choice of each prompt.
  void finished(FinishedReason reason, const engine_model::RequestStats& stats,
                uint32_t output_tokens_max) const;
  void aborted() const { count_success(FinishedReason::kAbort); }
  void failed() const { count_success(FinishedReason::kError); }
  // Per request of a client.
  void request(int64_t n, uint32_t longest_output) const;
  // Nothing: awake.
  void sleeping(std::optional<int> level) const;
  // Which adapters have requests; only with --enable-lora.
  void adapters(const std::string& names, base::WallTime now) { lora_info_->record(names, now); }

 private:
  void count_success(FinishedReason reason) const { success_[static_cast<size_t>(reason)].add(); }
  obs::Family& add_family(obs::Registry& registry, const protocol::EngineMetricInfo& info,
                          obs::LabelNames labels, uint32_t max_model_len);
  void add_unmeasured(obs::Registry& registry);
  void add_cache_config(obs::Registry& registry, const EngineConfig& config);
  void resolve();

  const std::string model_name_;
  std::optional<LoraInfo> lora_info_;
  std::vector<obs::Family*> families_;  // in the order of EngineMetric
  obs::Gauge running_, waiting_, usage_;
  std::array<obs::Gauge, 2> waiting_by_reason_;
  std::array<obs::Gauge, 3> sleep_states_;
  obs::Counter prefix_queries_, prefix_hits_, preemptions_, prompt_tokens_, prompt_cached_,
      generation_tokens_;
  std::array<obs::Counter, 3> prompt_by_source_;
  std::array<obs::Counter, 5> success_;
  engine_model::Counters seen_;  // already in the counters above
  obs::Histogram prompt_length_, generation_length_, iteration_tokens_, generation_max_, params_n_,
      params_max_tokens_, time_to_first_token_, inter_token_, time_per_output_token_, e2e_, queue_,
      inference_, prefill_, decode_, prefill_computed_;
};

}  // namespace fairlead::engine
