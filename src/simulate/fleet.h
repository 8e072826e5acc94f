// A fleet in virtual time: the real policy, columns and prefix index of a router over simulated
// engines, without HTTP between them. A discrete-event loop: requests arrive, engines end steps.
// What a router sees, this one sees at once: first bytes, ends, and what engines report. One
// thread; the same traffic, policy and seed give the same log.
//
//   workload::RunLog log = run(traffic, *policy, FleetOptions{});
#pragma once

#include <cstdint>
#include <string>

#include "pick/policy.h"
#include "simulate/traffic.h"
#include "workload/samples.h"

namespace fairlead::simulate {

struct FleetOptions {
  uint32_t replicas = 8;
  std::string profile = "h100-8b";
  // Of each replica; 0: as many as the profile's memory holds.
  uint32_t kv_blocks = 0;
  // So many clients, each with one request at a time, whose clock starts when it is sent; 0: as
  // many as there are requests.
  uint32_t in_flight_max = 0;
  uint64_t seed = 1;
};

// Samples are in the order they ended.
workload::RunLog run(const Traffic& traffic, const pick::Policy& policy,
                     const FleetOptions& options);

}  // namespace fairlead::simulate
