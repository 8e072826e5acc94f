// The requests that bench sends: bodies as JSON, made from prompts.
#pragma once

#include <string>
#include <string_view>

#include "bench/answer.h"
#include "bench/config.h"
#include "workload/prompts.h"

namespace fairlead::bench {

struct RequestShape {
  Api api = Api::kChat;
  std::string model;
  uint32_t max_tokens = 32;
  Streaming streaming = Streaming::kYes;
};

std::string_view path_of(Api api);
// Replaces `out`. A streamed request asks for the usage in its last event.
void write_body(const RequestShape& shape, const workload::Prompt& prompt, std::string& out);

// The replica that an explanation (the x-fairlead-explain header) names; empty if none.
std::string replica_of(std::string_view explanation);

}  // namespace fairlead::bench
