#include "engine_model/profile.h"

#include <algorithm>

namespace fairlead::engine_model {

namespace {

using Kind = PublishedFigure::Kind;

// Shapes from the models' published configurations: Qwen3-0.6B has 28 layers, 16 heads and 8 KV
// heads of 128, 0.44 G parameters beside the embedding, 0.596 G with it; Llama-3.1-8B has 32
// layers, 32 heads and 8 KV heads of 128, 8.03 G parameters; Llama-3.1-70B 80 layers, 64 heads and
// 8 KV heads of 128, 70.55 G parameters. All in bfloat16.

Profile rtx3060_qwen3() {
  const std::string report = "Kthena and Volcano on one RTX 3060 12 GiB, Qwen3-0.6B, vLLM: ";
  Profile p;
  p.name = "rtx3060-qwen3-0.6b";
  p.about =
      "Qwen3-0.6B in bfloat16 on one GeForce RTX 3060 12 GiB, fitted to a published lab report of "
      "Kthena with vLLM on that card. The report gives its prompt as about 1,199 tokens; that two "
      "streams ran in the foreground follows from rate times interval (1.8); its longest stalls "
      "(698 ms) belong to background prompts of unpublished length and are not fitted.";
  p.weights = base::Bytes(1'192'000'000);
  p.kv_cache = base::Bytes(9'400'000'000);
  p.kv_per_token = base::Bytes(114'688);
  p.flops_per_token = 0.88e9;
  p.flops_per_token_and_context = 4.0 * 28 * 16 * 128;
  p.flops_per_second = 16.9e12;
  p.bytes_per_second = 306e9;  // 0.85 of 360 GB/s
  p.step_overhead = std::chrono::microseconds(6'600);
  p.max_model_len = 40'960;
  p.figures = {
      {.kind = Kind::kTtftMeanMs,
       .value = 79.7,
       .prompt_tokens = 1199,
       .source = report + "TTFT of a single instance with the whole GPU"},
      {.kind = Kind::kInterTokenMs,
       .value = 10.5,
       .streams = 2,
       .prompt_tokens = 32,
       .output_tokens = 128,
       .source = report + "ITL of a single instance with the whole GPU"},
      {.kind = Kind::kOutputTokensPerSecond,
       .value = 170.55,
       .streams = 2,
       .prompt_tokens = 32,
       .output_tokens = 128,
       .source = report + "foreground output rate of the same run"},
      {.kind = Kind::kInterTokenMs,
       .value = 20.9,
       .prompt_tokens = 32,
       .output_tokens = 128,
       .device_share = 0.5,
       .source = report + "ITL of two instances with half the GPU each"},
      {.kind = Kind::kTtftMeanMs,
       .value = 24.6,
       .prompt_tokens = 1199,
       .cached_tokens = 1168,
       .device_share = 0.5,
       .source = report + "TTFT p50 under kvcache-aware routing, where the prefix is cached"},
  };
  return p;
}

Profile h100_8b() {
  const std::string report =
      "vllm-project/router, scripts/k8s/llama3/llm-d/ROUTER_BENCHMARK_RESULTS.md (Llama-3.1-8B, 8 "
      "prefill and 8 decode pods, 200 prompts, 1000 tokens in and out): ";
  Profile p;
  p.name = "h100-8b";
  p.about =
      "Llama-3.1-8B in bfloat16 on one H100 80 GB, fitted to the published benchmark of vLLM's "
      "router, taken as an eighth of its streams for each pod, arriving together. The report does "
      "not state the device; the fitted rates, 0.64 of an H100's compute and 0.9 of its "
      "bandwidth, agree with it. Its rates of output at 64 and 256 streams contradict its own "
      "intervals and are not fitted; the simulator profile of llm-d (30 ms + 250 us a token) is "
      "documented there as an order of magnitude only.";
  p.weights = base::Bytes(16'060'000'000);
  p.kv_cache = base::Bytes(56'600'000'000);
  p.kv_per_token = base::Bytes(131'072);
  p.flops_per_token = 16.06e9;
  p.flops_per_token_and_context = 4.0 * 32 * 32 * 128;
  p.flops_per_second = 633e12;
  p.bytes_per_second = 3.015e12;  // 0.9 of 3.35 TB/s
  p.step_overhead = std::chrono::microseconds(300);
  p.max_model_len = 131'072;
  p.max_num_seqs = 1024;
  p.max_num_batched_tokens = 8192;
  auto ttft = [&](double ms, uint32_t streams, const char* what) {
    p.figures.push_back({.kind = Kind::kTtftMeanMs,
                         .value = ms,
                         .streams = streams,
                         .prompt_tokens = 1000,
                         .source = report + what});
  };
  ttft(79, 4, "mean TTFT at concurrency 32");
  ttft(116, 8, "mean TTFT at concurrency 64");
  ttft(231, 16, "mean TTFT at concurrency 128");
  ttft(381, 25, "mean TTFT at concurrency 256, of which 200 exist");
  auto itl = [&](double ms, uint32_t streams, const char* what) {
    // The decode pods get their KV cache from the prefill pods.
    p.figures.push_back({.kind = Kind::kInterTokenMs,
                         .value = ms,
                         .streams = streams,
                         .prompt_tokens = 1000,
                         .cached_tokens = 992,
                         .output_tokens = 1000,
                         .source = report + what});
  };
  itl(5.95, 4, "lowest TPOT");
  itl(7.15, 25, "highest TPOT");
  return p;
}

Profile h100x4_70b() {
  const std::string report =
      "llm-d-kv-cache-manager, benchmarking/37-capacity/README.md (Llama-3.1-70B, vLLM, 4 pods of "
      "4 H100 each, shared prefixes of 8,000 tokens, 1,000 of each prompt its own, 1,000 out, "
      "precise-prefix-cache): mean ITL at ";
  const std::string coefficients =
      "inference-sim, defaults.yaml (Llama-3.3-70B, H100, tensor parallelism 4, vLLM 0.8.4): a "
      "step of 12,601 us + 76.42 us a prompt token, ";
  Profile p;
  p.name = "h100x4-70b";
  p.about =
      "Llama-3.1-70B (or 3.3) in bfloat16 on four H100 80 GB with tensor parallelism 4, fitted to "
      "two publications of vLLM measurements: intervals of llm-d's benchmark, where the streams a "
      "pod had follow from its published rate of output times the interval, and the step times of "
      "inference-sim's published fit. The rates, 0.44 of the devices' compute and 0.92 of their "
      "bandwidth, contain what tensor parallelism costs. The report's times to first token (about "
      "250 ms) are those of gateway, tokenizing and prefill together and are not fitted; its KV "
      "cache of 461,376 tokens a pod is taken as it stands.";
  p.weights = base::Bytes(141'100'000'000);
  p.kv_cache = base::Bytes(151'183'687'680);
  p.kv_per_token = base::Bytes(327'680);
  p.flops_per_token = 141.1e9;
  p.flops_per_token_and_context = 4.0 * 80 * 64 * 128;
  p.flops_per_second = 1'750e12;
  p.bytes_per_second = 12.3e12;  // 0.92 of four times 3.35 TB/s
  p.step_overhead = std::chrono::microseconds(300);
  p.max_model_len = 131'072;
  p.max_num_seqs = 1024;
  p.max_num_batched_tokens = 8192;
  auto itl = [&](double ms, uint32_t streams, const char* what) {
    p.figures.push_back({.kind = Kind::kInterTokenMs,
                         .value = ms,
                         .streams = streams,
                         .prompt_tokens = 9000,
                         .cached_tokens = 8000,
                         .output_tokens = 1000,
                         .max_num_batched_tokens = 8192,
                         .source = report + what});
  };
  itl(13, 8, "3 requests/s, 2,590 tokens/s");
  itl(15, 13, "4 requests/s, 3,345 tokens/s");
  itl(17, 20, "6 requests/s, 4,640 tokens/s");
  itl(20, 31, "10 requests/s, 6,264 tokens/s");
  itl(24, 44, "15 requests/s, 7,345 tokens/s");
  itl(31, 62, "20 requests/s, 8,004 tokens/s");
  auto prefill = [&](double ms, uint32_t tokens, const char* what) {
    p.figures.push_back({.kind = Kind::kTtftMeanMs,
                         .value = ms,
                         .prompt_tokens = tokens,
                         .max_num_batched_tokens = 8192,
                         .source = coefficients + what});
  };
  prefill(90.9, 1024, "1,024 tokens");
  prefill(169.1, 2048, "2,048 tokens");
  prefill(325.6, 4096, "4,096 tokens");
  return p;
}

}  // namespace

base::Nanos step_time(const Profile& p, const StepWork& work) {
  const double tokens = static_cast<double>(work.tokens);
  const double products = std::max(static_cast<double>(p.weights.count) / p.bytes_per_second,
                                   tokens * p.flops_per_token / p.flops_per_second);
  const double decode_attention = static_cast<double>(work.decode_context) *
                                  static_cast<double>(p.kv_per_token.count) / p.bytes_per_second;
  const double prefill_attention =
      work.prefill_context * p.flops_per_token_and_context / p.flops_per_second;
  return p.step_overhead + base::from_seconds(products + decode_attention + prefill_attention);
}

uint32_t num_gpu_blocks(const Profile& p, uint32_t block_size) {
  const uint64_t blocks = p.kv_cache.count / (p.kv_per_token.count * block_size);
  return static_cast<uint32_t>(std::clamp<uint64_t>(blocks, 2, UINT32_MAX));
}

const std::vector<Profile>& builtin_profiles() {
  static const std::vector<Profile> profiles = {rtx3060_qwen3(), h100_8b(), h100x4_70b()};
  return profiles;
}

const Profile* find_profile(std::string_view name) {
  for (const Profile& p : builtin_profiles()) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

}  // namespace fairlead::engine_model
