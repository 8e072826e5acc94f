#include "router/endpoints.h"

#include <array>
#include <string>

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

std::string_view boundary_of(std::string_view content_type) {
  constexpr std::string_view kKey = "boundary=";
  const size_t at = content_type.find(kKey);
  if (at == std::string_view::npos) return {};
  std::string_view value = content_type.substr(at + kKey.size());
  if (value.starts_with('"')) {
    value.remove_prefix(1);
    return value.substr(0, value.find('"'));
  }
  return value.substr(0, value.find_first_of("; \t"));
}

}  // namespace

const Endpoint& find_endpoint(std::string_view path) {
  for (const Endpoint& endpoint : kEndpoints) {
    if (endpoint.path == path) return endpoint;
  }
  return kNone;
}

std::string_view form_field(std::string_view content_type, std::string_view body,
                            std::string_view name) {
  const std::string_view boundary = boundary_of(content_type);
  if (boundary.empty()) return {};
  const std::string delimiter = "--" + std::string(boundary);
  const std::string wanted = "name=\"" + std::string(name) + "\"";
  // Parts are walked from boundary to boundary, so a file that contains the words is not mistaken.
  for (size_t at = body.find(delimiter); at != std::string_view::npos;) {
    const size_t next = body.find(delimiter, at + delimiter.size());
    const std::string_view part = body.substr(at + delimiter.size(), next - at - delimiter.size());
    at = next;
    const size_t blank = part.find("\r\n\r\n");
    if (blank == std::string_view::npos) continue;
    const std::string_view head = part.substr(0, blank);
    if (head.find(wanted) == std::string_view::npos ||
        head.find("filename=") != std::string_view::npos)
      continue;
    std::string_view value = part.substr(blank + 4);
    if (value.ends_with("\r\n")) value.remove_suffix(2);
    return value;
  }
  return {};
}

}  // namespace fairlead::router
