#include "router/endpoints.h"

#include <array>

namespace fairlead::router {
namespace {

using Kind = EndpointKind;

constexpr std::array kEndpoints = {
    Endpoint{"/v1/chat/completions", Kind::kJson, "POST", true},
    Endpoint{"/v1/completions", Kind::kJson, "POST", true},
    Endpoint{"/v1/models", Kind::kModels, "GET"},
    Endpoint{"/healthz", Kind::kHealthz, "GET"},
    Endpoint{"/readyz", Kind::kReadyz, "GET"},
    Endpoint{"/v1/embeddings", Kind::kJson, "POST"},
    Endpoint{"/v1/responses", Kind::kJson, "POST"},
    Endpoint{"/v1/messages", Kind::kJson, "POST"},
    Endpoint{"/v1/score", Kind::kJson, "POST"},
    Endpoint{"/score", Kind::kJson, "POST"},
    Endpoint{"/v1/rerank", Kind::kJson, "POST"},
    Endpoint{"/v2/rerank", Kind::kJson, "POST"},
    Endpoint{"/rerank", Kind::kJson, "POST"},
    Endpoint{"/tokenize", Kind::kJson, "POST"},
    Endpoint{"/detokenize", Kind::kJson, "POST"},
    Endpoint{"/v1/audio/transcriptions", Kind::kMultipart, "POST"},
    Endpoint{"/v1/audio/translations", Kind::kMultipart, "POST"},
};
constexpr Endpoint kNone;

}  // namespace

const Endpoint& find_endpoint(std::string_view path) {
  for (const Endpoint& endpoint : kEndpoints) {
    if (endpoint.path == path) return endpoint;
  }
  return kNone;
}

}  // namespace fairlead::router
