// What a run records: one Sample a request, and the gaps between streamed tokens. One thread.
//
//   RunLog log;
//   log.samples.push_back({.prefix = 3, .replica = log.replica_index("10.0.0.1:8000"), ...});
//   Report report = make_report("round-robin", log);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "workload/histogram.h"
#include "workload/prompts.h"

namespace fairlead::workload {

// How a request ended, by what its sender saw.
enum class Outcome : uint8_t {
  kOk,
  kHttpStatus,   // an answer that is not 2xx; Sample::status says which
  kConnect,      // no connection
  kReset,        // the connection went away in mid-exchange
  kTimeout,      // no whole answer within the limit
  kProtocol,     // not HTTP, or a stream without its end
  kStreamError,  // an error event inside a stream
  kNotSent,      // an open loop at its bound of requests in flight
};

inline constexpr uint32_t kNoReplica = UINT32_MAX;

struct Sample {
  uint32_t prefix = kNoPrefix;
  uint32_t replica = kNoReplica;  // an index into RunLog::replicas
  Outcome outcome = Outcome::kOk;
  uint16_t status = 0;
  base::Nanos started{0};      // since the start of the run; in an open loop the planned arrival
  base::Nanos first_token{0};  // from `started`; zero where no token came
  base::Nanos last_token{0};   // as first_token
  base::Nanos pause_max{0};    // the longest between two of its tokens
  base::Nanos whole{0};        // from `started` to the end of the answer
  uint32_t prompt_tokens = 0;
  uint32_t output_tokens = 0;
  std::optional<uint32_t> cached_tokens;  // absent where the answer does not say
};

// What the load generator itself needed while requests were under way.
struct ClientUse {
  base::Nanos cpu{0};        // of its thread
  base::Nanos waiting{0};    // ready to run, while the machine ran something else
  base::Nanos saturated{0};  // the time in which it did hardly anything but these two
};

struct RunLog {
  // About 88 bytes a sample: a run stops here, at about 1.8 GB.
  static constexpr size_t kSamplesMax = 20'000'000;

  std::vector<Sample> samples;        // in the order they ended
  Histogram gaps;                     // between the pieces of a stream
  std::vector<std::string> replicas;  // by index
  base::Nanos busy{0};                // time in which requests were under way
  std::optional<ClientUse> client;    // absent where it was not measured

  // The index of the replica called `name`, new or known.
  uint32_t replica_index(std::string_view name);
};

// "http 503", "timed out"; one word for each kind, as in the report.
std::string error_kind(const Sample& sample);

}  // namespace fairlead::workload
