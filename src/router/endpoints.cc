#include "router/endpoints.h"

#include <array>

namespace fairlead::router {
namespace {

constexpr std::array kEndpoints = {
    Endpoint{"/v1/chat/completions", EndpointKind::kJson, "POST", true},
    Endpoint{"/v1/completions", EndpointKind::kJson, "POST", true},
    Endpoint{"/v1/models", EndpointKind::kModels, "GET"},
    Endpoint{"/healthz", EndpointKind::kHealthz, "GET"},
    Endpoint{"/readyz", EndpointKind::kReadyz, "GET"},
    Endpoint{"/v1/embeddings", EndpointKind::kJson, "POST"},
    Endpoint{"/v1/responses", EndpointKind::kJson, "POST"},
    Endpoint{"/v1/messages", EndpointKind::kJson, "POST"},
    Endpoint{"/v1/score", EndpointKind::kJson, "POST"},
    Endpoint{"/score", EndpointKind::kJson, "POST"},
    Endpoint{"/v1/rerank", EndpointKind::kJson, "POST"},
    Endpoint{"/v2/rerank", EndpointKind::kJson, "POST"},
    Endpoint{"/rerank", EndpointKind::kJson, "POST"},
    Endpoint{"/tokenize", EndpointKind::kJson, "POST"},
    Endpoint{"/detokenize", EndpointKind::kJson, "POST"},
    Endpoint{"/v1/audio/transcriptions", EndpointKind::kMultipart, "POST"},
    Endpoint{"/v1/audio/translations", EndpointKind::kMultipart, "POST"},
};
constexpr Endpoint kNoEndpoint;

}  // namespace

const Endpoint& find_endpoint(std::string_view path) {
  for (const Endpoint& endpoint : kEndpoints) {
    if (endpoint.path == path) return endpoint;
  }
  return kNoEndpoint;
}

}  // namespace fairlead::router
