// The metrics of a vLLM 0.20 engine: names, types, help, extra labels and buckets, in the order in
// which it prints them. Every series has the labels `model_name` and `engine` besides the one named
// here.
//
// What the engine writes and what the router reads is spelled here and nowhere else.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace fairlead::protocol {

enum class EngineMetricType { kCounter, kGauge, kHistogram };

enum class EngineBuckets {
  kNone,
  kTokens,
  kIteration,
  kSequences,
  kFirstToken,
  kPerToken,
  kRequest
};

enum class EngineMetric : size_t {
  kNumRequestsRunning,
  kNumRequestsWaiting,
  kNumRequestsWaitingByReason,
  kEngineSleepState,
  kKvCacheUsagePerc,
  kPrefixCacheQueriesTotal,
  kPrefixCacheHitsTotal,
  kExternalPrefixCacheQueriesTotal,
  kExternalPrefixCacheHitsTotal,
  kMmCacheQueriesTotal,
  kMmCacheHitsTotal,
  kNumPreemptionsTotal,
  kPromptTokensTotal,
  kPromptTokensBySourceTotal,
  kPromptTokensCachedTotal,
  kGenerationTokensTotal,
  kRequestSuccessTotal,
  kRequestPromptTokens,
  kRequestGenerationTokens,
  kIterationTokensTotal,
  kRequestMaxNumGenerationTokens,
  kRequestParamsN,
  kRequestParamsMaxTokens,
  kTimeToFirstTokenSeconds,
  kInterTokenLatencySeconds,
  kRequestTimePerOutputTokenSeconds,
  kE2eRequestLatencySeconds,
  kRequestQueueTimeSeconds,
  kRequestInferenceTimeSeconds,
  kRequestPrefillTimeSeconds,
  kRequestDecodeTimeSeconds,
  kRequestPrefillKvComputedTokens,
};

struct EngineMetricInfo {
  EngineMetric metric;
  std::string_view name;
  EngineMetricType type;
  std::string_view label;  // empty: none
  EngineBuckets buckets;
  std::string_view help;
};

// In the order of EngineMetric.
std::span<const EngineMetricInfo> engine_metrics();
const EngineMetricInfo& engine_metric(EngineMetric metric);

// Upper bounds without +Inf. Those of kTokens go up to the model's length: 1, 2, 5, 10, ...
std::vector<double> engine_buckets(EngineBuckets buckets, int64_t max_model_len);

// The values that each extra label has; all of them are printed from the start.
inline constexpr std::array<std::string_view, 2> kWaitingReasons = {"capacity", "deferred"};
inline constexpr std::array<std::string_view, 3> kSleepStates = {"awake", "weights_offloaded",
                                                                 "discard_all"};
inline constexpr std::array<std::string_view, 3> kTokenSources = {
    "local_compute", "local_cache_hit", "external_kv_transfer"};
inline constexpr std::array<std::string_view, 5> kFinishedReasons = {"stop", "length", "abort",
                                                                     "error", "repetition"};

// Value 1; the engine's cache configuration as labels, `model_name` not among them.
inline constexpr std::string_view kCacheConfigInfo = "vllm:cache_config_info";
inline constexpr std::string_view kCacheConfigInfoHelp = "Information of the LLMEngine CacheConfig";

}  // namespace fairlead::protocol
