// The command line of `fairlead engine`: that of `vllm serve`, and --sim-* flags.
//
//   auto config = parse_engine_args(args);          // what follows "engine": [serve] [MODEL]
//   [flags] if (!config) return usage_error(config.error());
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "engine/config.h"

namespace fairlead::engine {

// The environment variables vLLM reads that mean something here.
struct Environment {
  bool server_dev_mode = false;        // VLLM_SERVER_DEV_MODE
  bool runtime_lora_updating = false;  // VLLM_ALLOW_RUNTIME_LORA_UPDATING
  std::string api_key;                 // VLLM_API_KEY
};
Environment read_environment();

// kInvalidArgument names the flag, the value and what is allowed; an unknown flag is answered with
// the nearest known one. A file that a flag names (--sim-profile FILE) is read.
base::Result<EngineConfig> parse_engine_args(std::span<const std::string> args,
                                             const Environment& environment);
base::Result<EngineConfig> parse_engine_args(std::span<const std::string> args);

// What --help prints: the flags that mean something, with their defaults.
std::string engine_help();

}  // namespace fairlead::engine
