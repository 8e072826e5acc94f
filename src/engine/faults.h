// Faults to inject, by flag at the start or by POST /sim/faults while the engine runs.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "codec/json.h"

namespace fairlead::engine {

struct Faults {
  // For so long from now, or from the start, nothing listens, as while weights load; connections
  // that are open stay.
  base::Nanos refuse{0};
  // Requests are read and never answered, probes included; streams stand still.
  bool hang = false;
  // Streams are reset after so many chunks; 0: never.
  uint32_t reset_after_chunks = 0;
  // The share of generation requests answered with `error_status`, drawn by request number.
  double error_rate = 0;
  int error_status = 500;
  // Steps take so many times their time.
  double slow_factor = 1;
  // /metrics answers what it last answered.
  bool freeze_metrics = false;
  // /metrics says that so many requests run and none waits, whatever is true; -1: the truth.
  int64_t claim_running = -1;
};

// Changes the members that `json` names and keeps the others; the names are those of the flags
// without "--sim-", with underscores. kInvalidArgument names the member, its value and what is
// allowed.
base::Result<Faults> merge_faults(const Faults& faults, const codec::Json& json);
std::string to_json(const Faults& faults);

}  // namespace fairlead::engine
