#include "engine/routes.h"

namespace fairlead::engine {

namespace {

constexpr Route kRoutes[] = {
    {"/v1/chat/completions", Methods::kPost, Endpoint::kChat, Condition::kGenerate},
    {"/v1/completions", Methods::kPost, Endpoint::kCompletions, Condition::kGenerate},
    {"/v1/embeddings", Methods::kPost, Endpoint::kEmbeddings, Condition::kPooling},
    {"/v1/load_lora_adapter", Methods::kPost, Endpoint::kLoadAdapter, Condition::kRuntimeLora},
    {"/v1/unload_lora_adapter", Methods::kPost, Endpoint::kUnloadAdapter, Condition::kRuntimeLora},
    {"/v1/models", Methods::kGet, Endpoint::kModels},
    {"/tokenize", Methods::kPost, Endpoint::kTokenize},
    {"/detokenize", Methods::kPost, Endpoint::kDetokenize},
    {"/health", Methods::kGet, Endpoint::kHealth},
    {"/ping", Methods::kGetPost, Endpoint::kHealth},
    {"/version", Methods::kGet, Endpoint::kVersion},
    {"/load", Methods::kGet, Endpoint::kLoad},
    {"/metrics", Methods::kGet, Endpoint::kMetrics},
    {"/reset_prefix_cache", Methods::kPost, Endpoint::kResetPrefixCache, Condition::kDevMode},
    {"/reset_mm_cache", Methods::kPost, Endpoint::kResetOtherCache, Condition::kDevMode},
    {"/reset_encoder_cache", Methods::kPost, Endpoint::kResetOtherCache, Condition::kDevMode},
    {"/sleep", Methods::kPost, Endpoint::kSleep, Condition::kDevMode},
    {"/wake_up", Methods::kPost, Endpoint::kWakeUp, Condition::kDevMode},
    {"/is_sleeping", Methods::kGet, Endpoint::kIsSleeping, Condition::kDevMode},
    {"/pause", Methods::kPost, Endpoint::kPause, Condition::kDevMode},
    {"/resume", Methods::kPost, Endpoint::kResume, Condition::kDevMode},
    {"/is_paused", Methods::kGet, Endpoint::kIsPaused, Condition::kDevMode},
    {"/sim/faults", Methods::kGetPost, Endpoint::kFaults},
};

}  // namespace

bool Route::allows(std::string_view method) const {
  return (method == "GET" && methods != Methods::kPost) ||
         (method == "POST" && methods != Methods::kGet);
}

std::string_view Route::allow_field() const {
  switch (methods) {
    case Methods::kGet:
      return "Allow: GET\r\n";
    case Methods::kPost:
      return "Allow: POST\r\n";
    case Methods::kGetPost:
      return "Allow: GET, POST\r\n";
  }
  return "";
}

bool Route::takes_json() const {
  switch (endpoint) {
    case Endpoint::kChat:
    case Endpoint::kCompletions:
    case Endpoint::kTokenize:
    case Endpoint::kDetokenize:
    case Endpoint::kEmbeddings:
    case Endpoint::kLoadAdapter:
    case Endpoint::kUnloadAdapter:
      return true;
    default:
      return false;
  }
}

const Route* find_route(std::string_view path) {
  for (const Route& route : kRoutes) {
    if (route.path == path) return &route;
  }
  return nullptr;
}

}  // namespace fairlead::engine
