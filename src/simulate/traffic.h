// Traffic: the requests of a simulated run, with their times. Prompts are lists of texts, and a
// text is a number: token i of a text is a hash of both, so that equal texts are equal tokens and a
// long prompt costs a few bytes until it is sent. Deterministic from the seed.
//
//   Traffic traffic = make_traffic(TrafficKind::kPrefixGroups, 4'000, seed);
//   set_rate(traffic, 80);                          // a second
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "engine_model/types.h"
#include "workload/trace.h"

namespace fairlead::simulate {

struct Text {
  uint64_t id = 0;
  uint32_t tokens = 0;
};
engine_model::Token token_of(uint64_t text, uint32_t index);

inline constexpr uint32_t kFollowsNone = UINT32_MAX;

struct PlannedRequest {
  // From the start of the run; of a later turn, from the end of the turn before.
  base::Nanos at{0};
  uint32_t follows = kFollowsNone;  // the turn before, an earlier request
  std::vector<Text> prompt;
  uint64_t answer = 0;  // the id of its text
  uint32_t output_tokens = 1;
};

// In the order in which first turns arrive; a session's turns are adjacent.
using Traffic = std::vector<PlannedRequest>;

enum class TrafficKind : uint8_t {
  kSharedPrompt,   // one system prompt of 2,048 tokens, questions of 32 to 256
  kPrefixGroups,   // PrefixTraffic as it is by default
  kConversations,  // 1 to 9 turns, 20 system prompts of 1,024 tokens, 2 s to think
  kHotPrefix,      // one prompt of 4,096 tokens has 70 %, 200 of 2,048 tokens the rest
  kRandom,         // nothing shared; lengths exponential, mean 1,500
};
std::string_view to_string(TrafficKind kind);

struct TokenRange {
  uint32_t min = 0;
  uint32_t max = 0;
};
// System prompts, drawn by Zipf's law (exponent 0: evenly), and a question of its own to each.
struct PrefixTraffic {
  uint32_t prefixes = 400;
  uint32_t prefix_tokens = 2048;
  double zipf = 0.9;
  TokenRange question{32, 256};
  TokenRange output{16, 256};
};
Traffic make_prefix_traffic(const PrefixTraffic& options, uint32_t requests, uint64_t seed);
// Arrivals are Poisson, at one session a second until set_rate() says otherwise.
Traffic make_traffic(TrafficKind kind, uint32_t requests, uint64_t seed);

// The requests of a Mooncake trace. Its timestamps stand on a grid of three seconds: every request
// is put at random within its own.
Traffic make_recorded_traffic(const workload::Trace& trace, uint64_t seed);
// The same as JSON lines, for other programs to send: whole blocks are shared where texts are.
// Sessions of one turn, whose texts but the last are of whole blocks.
std::string to_mooncake(const Traffic& traffic);
// `count` requests from `first` on, the first at zero.
Traffic slice(const Traffic& traffic, size_t first, size_t count);

// Stretches the times of first turns so that this many requests, later turns included, come a
// second on average; times to think stay.
void set_rate(Traffic& traffic, double requests_per_second);
double rate(const Traffic& traffic);
// Everything is there at once and nobody thinks, to see how much can be served.
void press(Traffic& traffic);

}  // namespace fairlead::simulate
