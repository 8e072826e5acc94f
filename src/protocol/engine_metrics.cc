#include "protocol/engine_metrics.h"

#include "base/check.h"

namespace fairlead::protocol {
namespace {

using enum EngineMetric;
using enum EngineMetricType;

constexpr EngineMetricInfo kMetrics[] = {
    {kNumRequestsRunning, "vllm:num_requests_running", kGauge, "", EngineBuckets::kNone,
     "Number of requests in model execution batches."},
    {kNumRequestsWaiting, "vllm:num_requests_waiting", kGauge, "", EngineBuckets::kNone,
     "Number of requests waiting to be processed."},
    {kNumRequestsWaitingByReason, "vllm:num_requests_waiting_by_reason", kGauge, "reason",
     EngineBuckets::kNone,
     "Number of waiting requests by reason. Reason labels: 'capacity' = waiting for scheduling "
     "capacity; 'deferred' = deferred by transient constraints (LoRA budget, KV transfer, blocked "
     "status). Sum of all reasons equals vllm:num_requests_waiting."},
    {kEngineSleepState, "vllm:engine_sleep_state", kGauge, "sleep_state", EngineBuckets::kNone,
     "Engine sleep state; awake = 0 means engine is sleeping; awake = 1 means engine is awake; "
     "weights_offloaded = 1 means sleep level 1; discard_all = 1 means sleep level 2."},
    {kKvCacheUsagePerc, "vllm:kv_cache_usage_perc", kGauge, "", EngineBuckets::kNone,
     "KV-cache usage. 1 means 100 percent usage."},
    {kPrefixCacheQueriesTotal, "vllm:prefix_cache_queries_total", kCounter, "",
     EngineBuckets::kNone, "Prefix cache queries, in terms of number of queried tokens."},
    {kPrefixCacheHitsTotal, "vllm:prefix_cache_hits_total", kCounter, "", EngineBuckets::kNone,
     "Prefix cache hits, in terms of number of cached tokens."},
    {kExternalPrefixCacheQueriesTotal, "vllm:external_prefix_cache_queries_total", kCounter, "",
     EngineBuckets::kNone,
     "External prefix cache queries from KV connector cross-instance cache sharing, in terms of "
     "number of queried tokens."},
    {kExternalPrefixCacheHitsTotal, "vllm:external_prefix_cache_hits_total", kCounter, "",
     EngineBuckets::kNone,
     "External prefix cache hits from KV connector cross-instance cache sharing, in terms of "
     "number of cached tokens."},
    {kMmCacheQueriesTotal, "vllm:mm_cache_queries_total", kCounter, "", EngineBuckets::kNone,
     "Multi-modal cache queries, in terms of number of queried items."},
    {kMmCacheHitsTotal, "vllm:mm_cache_hits_total", kCounter, "", EngineBuckets::kNone,
     "Multi-modal cache hits, in terms of number of cached items."},
    {kNumPreemptionsTotal, "vllm:num_preemptions_total", kCounter, "", EngineBuckets::kNone,
     "Cumulative number of preemption from the engine."},
    {kPromptTokensTotal, "vllm:prompt_tokens_total", kCounter, "", EngineBuckets::kNone,
     "Number of prefill tokens processed."},
    {kPromptTokensBySourceTotal, "vllm:prompt_tokens_by_source_total", kCounter, "source",
     EngineBuckets::kNone, "Number of prompt tokens by source."},
    {kPromptTokensCachedTotal, "vllm:prompt_tokens_cached_total", kCounter, "",
     EngineBuckets::kNone, "Number of cached prompt tokens (local + external)."},
    {kGenerationTokensTotal, "vllm:generation_tokens_total", kCounter, "", EngineBuckets::kNone,
     "Number of generation tokens processed."},
    {kRequestSuccessTotal, "vllm:request_success_total", kCounter, "finished_reason",
     EngineBuckets::kNone, "Count of successfully processed requests."},
    {kRequestPromptTokens, "vllm:request_prompt_tokens", kHistogram, "", EngineBuckets::kTokens,
     "Number of prefill tokens processed."},
    {kRequestGenerationTokens, "vllm:request_generation_tokens", kHistogram, "",
     EngineBuckets::kTokens, "Number of generation tokens processed."},
    {kIterationTokensTotal, "vllm:iteration_tokens_total", kHistogram, "",
     EngineBuckets::kIteration, "Histogram of number of tokens per engine_step."},
    {kRequestMaxNumGenerationTokens, "vllm:request_max_num_generation_tokens", kHistogram, "",
     EngineBuckets::kTokens, "Histogram of maximum number of requested generation tokens."},
    {kRequestParamsN, "vllm:request_params_n", kHistogram, "", EngineBuckets::kSequences,
     "Histogram of the n request parameter."},
    {kRequestParamsMaxTokens, "vllm:request_params_max_tokens", kHistogram, "",
     EngineBuckets::kTokens, "Histogram of the max_tokens request parameter."},
    {kTimeToFirstTokenSeconds, "vllm:time_to_first_token_seconds", kHistogram, "",
     EngineBuckets::kFirstToken, "Histogram of time to first token in seconds."},
    {kInterTokenLatencySeconds, "vllm:inter_token_latency_seconds", kHistogram, "",
     EngineBuckets::kPerToken, "Histogram of inter-token latency in seconds."},
    {kRequestTimePerOutputTokenSeconds, "vllm:request_time_per_output_token_seconds", kHistogram,
     "", EngineBuckets::kPerToken, "Histogram of time_per_output_token_seconds per request."},
    {kE2eRequestLatencySeconds, "vllm:e2e_request_latency_seconds", kHistogram, "",
     EngineBuckets::kRequest, "Histogram of e2e request latency in seconds."},
    {kRequestQueueTimeSeconds, "vllm:request_queue_time_seconds", kHistogram, "",
     EngineBuckets::kRequest, "Histogram of time spent in WAITING phase for request."},
    {kRequestInferenceTimeSeconds, "vllm:request_inference_time_seconds", kHistogram, "",
     EngineBuckets::kRequest, "Histogram of time spent in RUNNING phase for request."},
    {kRequestPrefillTimeSeconds, "vllm:request_prefill_time_seconds", kHistogram, "",
     EngineBuckets::kRequest, "Histogram of time spent in PREFILL phase for request."},
    {kRequestDecodeTimeSeconds, "vllm:request_decode_time_seconds", kHistogram, "",
     EngineBuckets::kRequest, "Histogram of time spent in DECODE phase for request."},
    {kRequestPrefillKvComputedTokens, "vllm:request_prefill_kv_computed_tokens", kHistogram, "",
     EngineBuckets::kTokens,
     "Histogram of new KV tokens computed during prefill (excluding cached tokens)."},
};

constexpr double kIterationBounds[] = {1,   8,    16,   32,   64,   128,  256,
                                       512, 1024, 2048, 4096, 8192, 16384};
constexpr double kSequenceBounds[] = {1, 2, 5, 10, 20};
constexpr double kFirstTokenBounds[] = {.001, .005, .01, .02, .04, .06, .08, .1, .25, .5,  .75,
                                        1,    2.5,  5,   7.5, 10,  20,  40,  80, 160, 640, 2560};
constexpr double kPerTokenBounds[] = {.01, .025, .05, .075, .1,  .15, .2, .3, .4, .5,
                                      .75, 1,    2.5, 5,    7.5, 10,  20, 40, 80};
constexpr double kRequestBounds[] = {.3, .5, .8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                                     30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};

std::vector<double> token_bounds(int64_t max_model_len) {
  std::vector<double> bounds;
  for (int64_t decade = 1;; decade *= 10) {
    for (const int64_t step : {1, 2, 5}) {
      if (decade * step > max_model_len) return bounds;
      bounds.push_back(static_cast<double>(decade * step));
    }
  }
}

}  // namespace

std::span<const EngineMetricInfo> engine_metrics() { return kMetrics; }

const EngineMetricInfo& engine_metric(EngineMetric metric) {
  const EngineMetricInfo& info = kMetrics[static_cast<size_t>(metric)];
  CHECK(info.metric == metric, "the table is in the order of the enumeration");
  return info;
}

std::vector<double> engine_buckets(EngineBuckets buckets, int64_t max_model_len) {
  const auto list = [](std::span<const double> bounds) {
    return std::vector<double>(bounds.begin(), bounds.end());
  };
  switch (buckets) {
    case EngineBuckets::kNone:
      return {};
    case EngineBuckets::kTokens:
      return token_bounds(max_model_len);
    case EngineBuckets::kIteration:
      return list(kIterationBounds);
    case EngineBuckets::kSequences:
      return list(kSequenceBounds);
    case EngineBuckets::kFirstToken:
      return list(kFirstTokenBounds);
    case EngineBuckets::kPerToken:
      return list(kPerTokenBounds);
    case EngineBuckets::kRequest:
      return list(kRequestBounds);
  }
  return {};
}

}  // namespace fairlead::protocol
