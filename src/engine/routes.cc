#include "engine/routes.h"

namespace fairlead::engine {

namespace {

constexpr Route kRoutes[] = {
    {"/v1/chat/completions", Methods::kPost, Endpoint::kChat},
    {"/v1/completions", Methods::kPost, Endpoint::kCompletions},
    {"/v1/models", Methods::kGet, Endpoint::kModels},
    {"/tokenize", Methods::kPost, Endpoint::kTokenize},
    {"/detokenize", Methods::kPost, Endpoint::kDetokenize},
    {"/health", Methods::kGet, Endpoint::kHealth},
    {"/ping", Methods::kGetPost, Endpoint::kHealth},
    {"/version", Methods::kGet, Endpoint::kVersion},
    {"/load", Methods::kGet, Endpoint::kLoad},
    {"/metrics", Methods::kGet, Endpoint::kMetrics},
    {"/reset_prefix_cache", Methods::kPost, Endpoint::kResetPrefixCache},
    {"/reset_mm_cache", Methods::kPost, Endpoint::kResetOtherCache},
    {"/reset_encoder_cache", Methods::kPost, Endpoint::kResetOtherCache},
    {"/sleep", Methods::kPost, Endpoint::kSleep},
    {"/wake_up", Methods::kPost, Endpoint::kWakeUp},
    {"/is_sleeping", Methods::kGet, Endpoint::kIsSleeping},
    {"/pause", Methods::kPost, Endpoint::kPause},
    {"/resume", Methods::kPost, Endpoint::kResume},
    {"/is_paused", Methods::kGet, Endpoint::kIsPaused},
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
  return endpoint == Endpoint::kChat || endpoint == Endpoint::kCompletions ||
         endpoint == Endpoint::kTokenize || endpoint == Endpoint::kDetokenize;
}

bool Route::needs_dev_mode() const {
  return endpoint >= Endpoint::kResetPrefixCache && endpoint <= Endpoint::kIsPaused;
}

const Route* find_route(std::string_view path) {
  for (const Route& route : kRoutes) {
    if (route.path == path) return &route;
  }
  return nullptr;
}

}  // namespace fairlead::engine
