// How fast a model runs on a device, as data. A step takes
//
//   overhead + max(weights / bandwidth, tokens * flops / compute)     the matrix products
//            + context of decoding requests * KV bytes / bandwidth    their attention reads
//            + prompt tokens * their context * flops / compute        attention of prompts
//
// so that decode is bound by bandwidth and prefill by compute, and a long prompt in the batch slows
// the tokens of the others, as on a GPU. The sum is simpler than a model of each kernel and, unlike
// a time for each request, shows interference; what it leaves out are effects of batch shape on
// kernel efficiency, and everything outside of the GPU but for `step_overhead`.
//
// Each profile carries the published figures that it was fitted to; fit.h runs the model against
// them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"

namespace fairlead::engine_model {

struct PublishedFigure {
  enum class Kind : uint8_t { kTtftMeanMs, kInterTokenMs, kOutputTokensPerSecond };
  Kind kind = Kind::kTtftMeanMs;
  double value = 0;
  // The run as far as it is published or follows from what is: requests that arrive together.
  uint32_t streams = 1;
  uint32_t prompt_tokens = 0;
  uint32_t cached_tokens = 0;
  uint32_t output_tokens = 1;
  uint32_t max_num_batched_tokens = 2048;
  double device_share = 1;
  std::string source;
};

struct Profile {
  std::string name;
  std::string about;

  base::Bytes weights;
  base::Bytes kv_cache;  // memory left for KV blocks
  base::Bytes kv_per_token;
  double flops_per_token = 0;
  double flops_per_token_and_context = 0;
  // What the device reaches, not its data sheet.
  double flops_per_second = 0;
  double bytes_per_second = 0;
  base::Nanos step_overhead{};

  // vLLM's defaults for this model and device.
  uint32_t max_model_len = 0;
  uint32_t max_num_seqs = 256;
  uint32_t max_num_batched_tokens = 2048;

  std::vector<PublishedFigure> figures;
};

// What one step computes.
struct StepWork {
  uint64_t tokens = 0;
  uint64_t decode_context = 0;  // tokens of KV read by requests that compute one token
  double prefill_context = 0;   // sum over prompt tokens of the tokens before them
};

base::Nanos step_time(const Profile& profile, const StepWork& work);
// As many blocks as fit; at least 2.
uint32_t num_gpu_blocks(const Profile& profile, uint32_t block_size);

// The built-in profiles; the first is the default.
const std::vector<Profile>& builtin_profiles();
// Null when there is no such profile.
const Profile* find_profile(std::string_view name);

}  // namespace fairlead::engine_model
