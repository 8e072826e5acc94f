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
  // Only with VLLM_SERVER_DEV_MODE=1.
  kResetPrefixCache,
  kResetOtherCache,
  kSleep,
  kWakeUp,
  kIsSleeping,
  kPause,
  kResume,
  kIsPaused,
  // Ours.
  kFaults,
};

enum class Methods : uint8_t { kGet, kPost, kGetPost };

struct Route {
  std::string_view path;
  Methods methods;
  Endpoint endpoint;

  bool allows(std::string_view method) const;
  std::string_view allow_field() const;  // "allow: POST" with CRLF
  bool takes_json() const;
  bool needs_dev_mode() const;
};

// Null where there is none.
const Route* find_route(std::string_view path);

}  // namespace fairlead::engine
