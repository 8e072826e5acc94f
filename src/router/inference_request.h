// What a client asks an engine for, read from its request, and what the engine gets in place of the
// body. Pure.
//
//   InferenceRequest request(endpoint, body);
//   if (auto refused = request.read(content_type)) answer(*refused);
//   pick(request.model(), request.blocks(hasher));
//   send(head_with_length(request.length()), request.append_to(pieces));
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cache_index/prefix_hasher.h"
#include "codec/body_edit.h"
#include "codec/body_scan.h"
#include "protocol/errors.h"
#include "router/answer_filter.h"
#include "router/endpoints.h"
#include "rt/pooled.h"

namespace fairlead::router {

class InferenceRequest {
 public:
  // About four bytes of JSON text a token: good enough for load, engines report the truth.
  static constexpr size_t kBytesPerToken = 4;

  // Both outlive it: it holds views of the body.
  InferenceRequest(const Endpoint& endpoint, std::string_view body)
      : endpoint_(endpoint), body_(body) {}
  InferenceRequest(const InferenceRequest&) = delete;
  InferenceRequest& operator=(const InferenceRequest&) = delete;

  // First; what the client is told if the body is not one that an engine could be asked with.
  std::optional<protocol::ApiError> read(std::string_view content_type);

  std::string_view model() const { return model_; }
  bool streams() const { return scan_.streams; }
  // Answers that are made side by side; at least 1.
  uint64_t choices() const;
  size_t bytes() const { return body_.size(); }
  uint32_t tokens() const { return static_cast<uint32_t>(body_.size() / kBytesPerToken); }
  // Of the prompt. They lie in `hasher`, so they are gone with what it hashes next.
  std::span<const uint64_t> blocks(cache_index::PrefixHasher& hasher) const;

  // Has a stream report its usage, for the router to learn from, where the client did not ask for
  // it. Whether it changed anything: the client must not see that event then.
  bool ask_usage();

  // Of what the engine gets.
  uint64_t length() const;
  void append_to(Pieces& pieces) const;

 private:
  std::optional<protocol::ApiError> missing_prompt() const;

  const Endpoint& endpoint_;
  std::string_view body_;
  codec::BodyScan scan_;
  codec::BodyEdits edits_{scan_};
  rt::PooledString model_;
};

}  // namespace fairlead::router
