// For tests: the exchanges recorded from a real vLLM 0.20.2, tests/fixtures/vllm-0.20.2/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codec/json.h"

namespace fairlead::protocol {

struct Exchange {
  std::string name, method, path;
  std::string request;  // the body, empty if there was none
  int status = 0;
  std::string answer;  // the body
};

// Those of exchanges.json and of exchanges_small_cache.json.
std::vector<Exchange> recorded_exchanges();
// The one with this name.
Exchange recorded(std::string_view name);
// The JSON of a stream's events, without [DONE].
std::vector<std::string> events_of(const Exchange& exchange);

}  // namespace fairlead::protocol
