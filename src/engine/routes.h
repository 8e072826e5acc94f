// The paths that an engine answers. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace fairlead::engine {

enum class Endpoint : uint8_t {
  kChat,
  kCompletions,
  kTokenize,
  kDetokenize,
  kModels,
  kHealth,
  kVersion,
  kLoad,
  kMetrics,
  kEmbeddings,
  kLoadAdapter,
  kUnloadAdapter,
  kResetPrefixCache,
  kResetOtherCache,
  kSleep,
  kWakeUp,
  kIsSleeping,
  kPause,
  kResume,
  kIsPaused,
  kFaults,
};

// Under which an endpoint exists.
enum class Condition : uint8_t {
  kAlways,
  kGenerate,     // the model generates text
  kPooling,      // --runner pooling
  kRuntimeLora,  // VLLM_ALLOW_RUNTIME_LORA_UPDATING=1
  kDevMode,      // VLLM_SERVER_DEV_MODE=1
};

enum class Methods : uint8_t { kGet, kPost, kGetPost };

struct Route {
  std::string_view path;
  Methods methods;
  Endpoint endpoint;
  Condition condition = Condition::kAlways;

  bool allows(std::string_view method) const;
  std::string_view allow_field() const;  // "allow: POST" with CRLF
  bool takes_json() const;
};

// Null where there is none.
const Route* find_route(std::string_view path);

}  // namespace fairlead::engine
