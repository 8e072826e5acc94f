#include "engine/metrics.h"

#include <algorithm>
#include <vector>

namespace fairlead::engine {

using protocol::EngineMetric;
using protocol::EngineMetricInfo;
using protocol::EngineMetricType;

namespace {

constexpr std::string_view kEngine = "0";

std::string_view python_bool(bool value) { return value ? "True" : "False"; }

double since(base::TimePoint from, base::TimePoint to) { return base::to_seconds(to - from); }

}  // namespace

EngineMetrics::EngineMetrics(obs::Registry& registry, const EngineConfig& config)
    : model_name_(config.served_name()) {
  add_unmeasured(registry);
  for (const EngineMetricInfo& info : protocol::engine_metrics()) {
    obs::LabelNames labels = {"engine", "model_name"};
    if (!info.label.empty()) labels.emplace_back(info.label);
    families_.push_back(&add_family(registry, info, std::move(labels), config.max_model_len));
  }
  if (config.enable_lora) lora_info_.emplace(registry, config.max_loras);
  add_cache_config(registry, config);
  resolve();
  sleeping(std::nullopt);
}

obs::Family& EngineMetrics::add_family(obs::Registry& registry, const EngineMetricInfo& info,
                                       obs::LabelNames labels, uint32_t max_model_len) {
  std::string name(info.name), help(info.help);
  switch (info.type) {
    case EngineMetricType::kCounter:
      return registry.counter(std::move(name), std::move(help), std::move(labels));
    case EngineMetricType::kGauge:
      return registry.gauge(std::move(name), std::move(help), std::move(labels));
    case EngineMetricType::kHistogram:
      break;
  }
  return registry.histogram(std::move(name), std::move(help),
                            protocol::engine_buckets(info.buckets, max_model_len),
                            std::move(labels));
}

// Always 0, as in vLLM without --enable-mfu-metrics.
void EngineMetrics::add_unmeasured(obs::Registry& registry) {
  constexpr std::string_view kUse = " (for Model Flops Utilization calculations).";
  const auto add = [&](const char* name, std::string help) {
    registry.counter(name, help.append(kUse), {"engine", "model_name"})
        .counter(0, {kEngine, model_name_});
  };
  add("vllm:estimated_flops_per_gpu_total",
      "Estimated number of floating point operations per GPU");
  add("vllm:estimated_read_bytes_per_gpu_total",
      "Estimated number of bytes read from memory per GPU");
  add("vllm:estimated_write_bytes_per_gpu_total",
      "Estimated number of bytes written to memory per GPU");
}

void EngineMetrics::resolve() {
  const auto family = [&](EngineMetric m) -> obs::Family& {
    return *families_[static_cast<size_t>(m)];
  };
  const auto gauge = [&](EngineMetric m) { return family(m).gauge(0, {kEngine, model_name_}); };
  const auto counter = [&](EngineMetric m) { return family(m).counter(0, {kEngine, model_name_}); };
  const auto histogram = [&](EngineMetric m) {
    return family(m).histogram(0, {kEngine, model_name_});
  };
  running_ = gauge(EngineMetric::kNumRequestsRunning);
  waiting_ = gauge(EngineMetric::kNumRequestsWaiting);
  usage_ = gauge(EngineMetric::kKvCacheUsagePerc);
  for (size_t i = 0; i < waiting_by_reason_.size(); ++i) {
    waiting_by_reason_[i] = family(EngineMetric::kNumRequestsWaitingByReason)
                                .gauge(0, {kEngine, model_name_, protocol::kWaitingReasons[i]});
  }
  for (size_t i = 0; i < sleep_states_.size(); ++i) {
    sleep_states_[i] = family(EngineMetric::kEngineSleepState)
                           .gauge(0, {kEngine, model_name_, protocol::kSleepStates[i]});
  }
  prefix_queries_ = counter(EngineMetric::kPrefixCacheQueriesTotal);
  prefix_hits_ = counter(EngineMetric::kPrefixCacheHitsTotal);
  for (const EngineMetric unused :
       {EngineMetric::kExternalPrefixCacheQueriesTotal, EngineMetric::kExternalPrefixCacheHitsTotal,
        EngineMetric::kMmCacheQueriesTotal, EngineMetric::kMmCacheHitsTotal}) {
    counter(unused);  // shown as 0: no connector, no images
  }
  preemptions_ = counter(EngineMetric::kNumPreemptionsTotal);
  prompt_tokens_ = counter(EngineMetric::kPromptTokensTotal);
  for (size_t i = 0; i < prompt_by_source_.size(); ++i) {
    prompt_by_source_[i] = family(EngineMetric::kPromptTokensBySourceTotal)
                               .counter(0, {kEngine, model_name_, protocol::kTokenSources[i]});
  }
  prompt_cached_ = counter(EngineMetric::kPromptTokensCachedTotal);
  generation_tokens_ = counter(EngineMetric::kGenerationTokensTotal);
  for (size_t i = 0; i < success_.size(); ++i) {
    success_[i] = family(EngineMetric::kRequestSuccessTotal)
                      .counter(0, {kEngine, model_name_, protocol::kFinishedReasons[i]});
  }
  prompt_length_ = histogram(EngineMetric::kRequestPromptTokens);
  generation_length_ = histogram(EngineMetric::kRequestGenerationTokens);
  iteration_tokens_ = histogram(EngineMetric::kIterationTokensTotal);
  generation_max_ = histogram(EngineMetric::kRequestMaxNumGenerationTokens);
  params_n_ = histogram(EngineMetric::kRequestParamsN);
  params_max_tokens_ = histogram(EngineMetric::kRequestParamsMaxTokens);
  time_to_first_token_ = histogram(EngineMetric::kTimeToFirstTokenSeconds);
  inter_token_ = histogram(EngineMetric::kInterTokenLatencySeconds);
  time_per_output_token_ = histogram(EngineMetric::kRequestTimePerOutputTokenSeconds);
  e2e_ = histogram(EngineMetric::kE2eRequestLatencySeconds);
  queue_ = histogram(EngineMetric::kRequestQueueTimeSeconds);
  inference_ = histogram(EngineMetric::kRequestInferenceTimeSeconds);
  prefill_ = histogram(EngineMetric::kRequestPrefillTimeSeconds);
  decode_ = histogram(EngineMetric::kRequestDecodeTimeSeconds);
  prefill_computed_ = histogram(EngineMetric::kRequestPrefillKvComputedTokens);
}

// One label a field of vLLM's CacheConfig, printed as Python prints it.
void EngineMetrics::add_cache_config(obs::Registry& registry, const EngineConfig& config) {
  const engine_model::ModelConfig& m = config.model_config;
  const std::string blocks = std::to_string(m.num_gpu_blocks);
  const std::string memory = std::to_string(config.profile.kv_cache.count);
  registry
      .gauge(std::string(protocol::kCacheConfigInfo), std::string(protocol::kCacheConfigInfoHelp),
             {"_block_size_resolved",
              "block_size",
              "cache_dtype",
              "calculate_kv_scales",
              "enable_prefix_caching",
              "engine",
              "gpu_memory_utilization",
              "hash_block_size",
              "is_attention_free",
              "kv_cache_dtype_skip_layers",
              "kv_cache_memory_bytes",
              "kv_offloading_backend",
              "kv_offloading_size",
              "kv_sharing_fast_prefill",
              "mamba_block_size",
              "mamba_cache_dtype",
              "mamba_cache_mode",
              "mamba_page_size_padded",
              "mamba_ssm_cache_dtype",
              "num_cpu_blocks",
              "num_gpu_blocks",
              "num_gpu_blocks_override",
              "prefix_caching_hash_algo",
              "sliding_window",
              "user_specified_block_size",
              "user_specified_mamba_block_size"})
      .gauge(0, {"True",
                 std::to_string(m.block_size),
                 config.kv_cache_dtype,
                 "False",
                 python_bool(m.enable_prefix_caching),
                 kEngine,
                 config.gpu_memory_utilization,
                 "None",
                 "False",
                 "[]",
                 memory,
                 "native",
                 "None",
                 "False",
                 "None",
                 "auto",
                 "none",
                 "None",
                 "auto",
                 "None",
                 blocks,
                 config.num_gpu_blocks_given ? blocks : "None",
                 config.prefix_caching_hash_algo,
                 "None",
                 python_bool(config.block_size_given),
                 "False"})
      .set(1);
}

void EngineMetrics::step(uint32_t tokens, const engine_model::Counters& c) {
  iteration_tokens_.observe(tokens);
  auto add = [](const obs::Counter& counter, uint64_t now, uint64_t before) {
    if (now != before) counter.add(static_cast<double>(now - before));
  };
  add(prefix_queries_, c.prefix_cache_queries, seen_.prefix_cache_queries);
  add(prefix_hits_, c.prefix_cache_hits, seen_.prefix_cache_hits);
  add(preemptions_, c.preemptions, seen_.preemptions);
  add(prompt_tokens_, c.prompt_tokens, seen_.prompt_tokens);
  add(prompt_by_source_[0], c.prompt_tokens - c.prompt_tokens_cached,
      seen_.prompt_tokens - seen_.prompt_tokens_cached);
  add(prompt_by_source_[1], c.prompt_tokens_cached, seen_.prompt_tokens_cached);
  add(prompt_cached_, c.prompt_tokens_cached, seen_.prompt_tokens_cached);
  add(generation_tokens_, c.output_tokens, seen_.output_tokens);
  seen_ = c;
}

void EngineMetrics::load(const engine_model::Load& load) const {
  running_.set(load.running);
  waiting_.set(load.waiting);
  waiting_by_reason_[0].set(load.waiting - load.deferred);
  waiting_by_reason_[1].set(load.deferred);
  usage_.set(load.kv_cache_usage);
}

void EngineMetrics::finished(FinishedReason reason, const engine_model::RequestStats& s,
                             uint32_t output_tokens_max) const {
  count_success(reason);
  prompt_length_.observe(s.prompt_tokens);
  generation_length_.observe(s.output_tokens);
  if (output_tokens_max > 0) params_max_tokens_.observe(output_tokens_max);
  e2e_.observe(since(s.added, s.last_token));
  queue_.observe(since(s.added, s.scheduled));
  inference_.observe(since(s.scheduled, s.last_token));
  prefill_.observe(since(s.scheduled, s.first_token));
  const double decode = since(s.first_token, s.last_token);
  decode_.observe(decode);
  time_per_output_token_.observe(s.output_tokens > 1 ? decode / (s.output_tokens - 1) : 0);
  prefill_computed_.observe(s.prompt_tokens - s.cached_tokens);
}

void EngineMetrics::request(int64_t n, uint32_t longest_output) const {
  params_n_.observe(static_cast<double>(n));
  generation_max_.observe(longest_output);
}

void EngineMetrics::sleeping(std::optional<int> level) const {
  sleep_states_[0].set(level ? 0 : 1);
  sleep_states_[1].set(level == 1 ? 1 : 0);
  sleep_states_[2].set(level == 2 ? 1 : 0);
}

}  // namespace fairlead::engine
