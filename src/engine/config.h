// What one simulated engine is started with: vLLM's settings that mean something here, the faults
// to inject, and the bounds of what a client can make it hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "engine/faults.h"
#include "engine_model/profile.h"
#include "engine_model/types.h"

namespace fairlead::engine {

// Bounds that no flag moves.
inline constexpr base::Bytes kRequestBodyMax{64u << 20};
inline constexpr uint32_t kChoicesMax = 128;  // n times prompts
inline constexpr size_t kEmbeddingInputsMax = 2048;
inline constexpr size_t kAdaptersMax = 500;
inline constexpr int64_t kLogprobsMax = 256;  // alternatives of a token that are made up

enum class Runner : uint8_t { kGenerate, kPooling };

// One adapter of --lora-modules.
struct LoraModule {
  std::string name, path;
  std::string base_model_name;  // empty: the first served name
};

struct EngineConfig {
  std::string host;  // empty: all interfaces
  uint16_t port = 8000;

  std::string model = "Qwen/Qwen3-0.6B";
  std::vector<std::string> served_model_names;  // empty: the model's own
  std::vector<std::string> api_keys;
  bool dev_mode = false;               // VLLM_SERVER_DEV_MODE
  bool runtime_lora_updating = false;  // VLLM_ALLOW_RUNTIME_LORA_UPDATING
  Runner runner = Runner::kGenerate;

  bool enable_lora = false;
  uint32_t max_loras = 1;
  std::vector<LoraModule> lora_modules;

  uint32_t embedding_size = 1024;  // --sim-embedding-size
  // --hf-overrides: embeddings may be shortened; to these sizes, empty: any.
  bool is_matryoshka = false;
  std::vector<int64_t> matryoshka_dimensions;

  engine_model::Profile profile;
  engine_model::ModelConfig model_config;
  uint32_t max_model_len = 0;
  int64_t max_logprobs = 20;
  // Where vLLM prints "None" in cache_config_info unless it was given.
  bool block_size_given = false;
  bool num_gpu_blocks_given = false;
  std::string gpu_memory_utilization = "0.92";
  std::string prefix_caching_hash_algo = "sha256";
  std::string kv_cache_dtype = "auto";

  bool enable_prompt_tokens_details = false;
  bool enable_force_include_usage = false;
  bool enable_request_id_headers = false;
  bool enable_server_load_tracking = false;
  bool enable_auto_tool_choice = false;
  std::string tool_call_parser;

  double speed = 1;           // --sim-speed
  uint32_t output_len = 128;  // --sim-output-len
  Faults faults;

  // Flags of vLLM that were accepted and mean nothing here, for one warning.
  std::vector<std::string> ignored_flags;

  const std::string& served_name() const {
    return served_model_names.empty() ? model : served_model_names.front();
  }
};

}  // namespace fairlead::engine
