// The LoRA adapters that an engine serves beside its model. Weights are as simulated as the
// model's: every path counts as one that is there. One loop.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config.h"
#include "protocol/adapter_request.h"

namespace fairlead::engine {

struct Adapter {
  std::string name, path;
  std::string parent;  // the model it belongs to
  uint32_t id = 0;     // never 0; kept when it is loaded again in place
};

class Adapters {
 public:
  // Begins with those of --lora-modules.
  explicit Adapters(const EngineConfig& config);

  protocol::Refusal load(const protocol::LoadAdapterRequest& request);
  // Requests that use it go on to their end.
  protocol::Refusal unload(const protocol::UnloadAdapterRequest& request);

  // Null if there is none of this name.
  std::shared_ptr<const Adapter> find(std::string_view name) const;
  // In order of their loading.
  std::span<const std::shared_ptr<const Adapter>> all() const { return adapters_; }

 private:
  const bool enabled_;
  const std::string parent_;
  uint32_t last_id_ = 0;
  std::vector<std::shared_ptr<const Adapter>> adapters_;
};

}  // namespace fairlead::engine
