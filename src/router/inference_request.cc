#include "router/inference_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "codec/prompt_pieces.h"
#include "net/stream.h"
#include "router/form_field.h"
#include "router/json_refusal.h"

namespace fairlead::router {

std::optional<protocol::ApiError> InferenceRequest::read(std::string_view content_type) {
  if (endpoint_.kind == EndpointKind::kMultipart) {
    model_ = form_field(content_type, body_, "model");
  } else {
    base::Result<codec::BodyScan> scan = codec::scan_body(body_);
    if (!scan) {
      const std::string words = json_refusal(body_);
      return protocol::http_error(scan.error().wrap(
          fmt::format("The request body is not valid JSON{}{}", words.empty() ? "" : ": ", words)));
    }
    scan_ = *scan;
    std::string decoded;
    model_ = codec::body_text(body_, scan_.model_span, decoded);
  }
  if (model_.empty()) {
    protocol::ApiError error = protocol::http_error(base::Error(
        base::ErrorCode::kNotFound,
        "model not found: the field 'model' must name one, as a string that is not empty."));
    error.param = "model";
    return error;
  }
  return missing_prompt();
}

// Elsewhere it is the engine's to say what it needs.
std::optional<protocol::ApiError> InferenceRequest::missing_prompt() const {
  const bool chat = endpoint_.path == "/v1/chat/completions";
  if (!chat || scan_.messages.present() || scan_.prompt.present() || scan_.input.present()) {
    return std::nullopt;
  }
  protocol::ApiError error = protocol::http_error(base::Error(
      base::ErrorCode::kNotFound, "prompt not found: the field 'messages' is missing."));
  error.param = "messages";
  return error;
}

uint64_t InferenceRequest::choices() const {
  return static_cast<uint64_t>(std::max<int64_t>(1, scan_.n.value_or(1)));
}

std::span<const uint64_t> InferenceRequest::blocks(cache_index::PrefixHasher& hasher) const {
  if (endpoint_.kind != EndpointKind::kJson) return {};
  hasher.reset(model_, scan_.cache_salt.in(body_));
  codec::for_each_prompt_piece(body_, scan_, [&hasher](const codec::PromptPiece& part) {
    hasher.add(part.raw);
    return !hasher.full();
  });
  return hasher.blocks();
}

bool InferenceRequest::ask_usage() {
  if (!scan_.streams || scan_.include_usage || !endpoint_.has_usage_option) return false;
  edits_.request_usage(body_);
  return !edits_.empty();
}

uint64_t InferenceRequest::length() const {
  uint64_t length = body_.size();
  for (const codec::Splice& splice : edits_.splices())
    length += splice.insert.size() - splice.remove;
  return length;
}

void InferenceRequest::append_to(Pieces& pieces) const {
  size_t from = 0;
  for (const codec::Splice& splice : edits_.splices()) {
    pieces.push_back(net::iovec_of(body_.substr(from, splice.offset - from)));
    pieces.push_back(net::iovec_of(splice.insert));
    from = splice.offset + splice.remove;
  }
  if (from < body_.size()) pieces.push_back(net::iovec_of(body_.substr(from)));
}

}  // namespace fairlead::router
