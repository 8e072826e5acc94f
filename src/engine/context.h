// What the handlers of one engine share. One loop.
#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"
#include "engine/config.h"
#include "engine/core.h"
#include "engine/faults.h"
#include "engine/http_metrics.h"
#include "engine/metrics.h"
#include "protocol/request.h"
#include "protocol/tokenizer.h"

namespace fairlead::engine {

struct Context {
  const EngineConfig& config;
  const protocol::Tokenizer& tokenizer;
  const protocol::EngineLimits& limits;
  rt::Loop& loop;
  Core& core;
  EngineMetrics& metrics;
  Faults& faults;
  base::Random& ids;

  int64_t unix_seconds() const {
    return std::chrono::floor<std::chrono::seconds>(loop.clock().wall()).time_since_epoch().count();
  }
  // 16 hexadecimal digits, as vLLM's ids end with.
  std::string random_id();
};

}  // namespace fairlead::engine
