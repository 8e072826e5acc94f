// The requests that bench sends: bodies as JSON, made from what a session says next.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bench/answer.h"
#include "bench/config.h"

namespace fairlead::bench {

struct RequestShape {
  Api api = Api::kChat;
  std::string model;
  uint32_t max_tokens = 32;
  Streaming streaming = Streaming::kYes;
};

struct RequestText {
  std::string_view system;  // none where empty
  // What was said since, each a message as JSON. Chat only.
  std::span<const std::string> history;
  std::string_view question;
  // Exactly so many tokens are wanted, whatever the model would say; else up to the shape's.
  std::optional<uint32_t> output_tokens;
};

std::string_view path_of(Api api);
// Replaces `out`. A streamed request asks for the usage in its last event.
void write_body(const RequestShape& shape, const RequestText& text, std::string& out);

// Messages for a history. `content_json` is the inside of a JSON string.
std::string user_message(std::string_view content);
std::string assistant_message(std::string_view content_json);

// The replica that an explanation (the x-fairlead-explain header) names; empty if none.
std::string replica_of(std::string_view explanation);

}  // namespace fairlead::bench
