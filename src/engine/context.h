// What the handlers of one engine share. One loop.
#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"
#include "engine/adapters.h"
#include "engine/config.h"
#include "engine/core.h"
#include "engine/faults.h"
#include "engine/http_metrics.h"
#include "engine/metrics.h"
#include "protocol/answer.h"
#include "protocol/request.h"
#include "protocol/tokenizer.h"

namespace fairlead::engine {

struct Context {
  const EngineConfig& config;
  const protocol::Tokenizer& tokenizer;
  const protocol::EngineLimits& limits;
  rt::Loop& loop;
  Core& core;
  Adapters& adapters;
  EngineMetrics& metrics;
  Faults& faults;
  base::Random& ids;

  int64_t unix_seconds() const {
    return std::chrono::floor<std::chrono::seconds>(loop.clock().wall()).time_since_epoch().count();
  }
  // 16 hexadecimal digits, as vLLM's ids end with.
  std::string random_id();
  // The adapter that a request's model names; null: the model itself.
  std::shared_ptr<const Adapter> adapter_of(std::string_view model) const;
  // Seeds the names of KV blocks: prefixes are shared within a model, an adapter and a salt.
  uint64_t cache_seed(const Adapter* adapter, std::string_view salt) const;
  protocol::AnswerHead head(std::string id, const std::string& model) const {
    return {.id = std::move(id),
            .created = unix_seconds(),
            .model = model.empty() ? config.served_name() : model};
  }
};

}  // namespace fairlead::engine
