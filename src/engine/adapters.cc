#include "engine/adapters.h"

#include <algorithm>

#include <fmt/format.h>

namespace fairlead::engine {

Adapters::Adapters(const EngineConfig& config)
    : enabled_(config.enable_lora), parent_(config.served_name()) {
  for (const LoraModule& module : config.lora_modules) {
    adapters_.push_back(std::make_shared<Adapter>(
        Adapter{.name = module.name,
                .path = module.path,
                .parent = module.base_model_name.empty() ? parent_ : module.base_model_name,
                .id = ++last_id_}));
  }
}

std::shared_ptr<const Adapter> Adapters::find(std::string_view name) const {
  const auto it = std::find_if(adapters_.begin(), adapters_.end(),
                               [&](const auto& adapter) { return adapter->name == name; });
  return it == adapters_.end() ? nullptr : *it;
}

protocol::Refusal Adapters::load(const protocol::LoadAdapterRequest& request) {
  const auto it = std::find_if(adapters_.begin(), adapters_.end(),
                               [&](const auto& adapter) { return adapter->name == request.name; });
  if (it != adapters_.end() && !request.load_inplace) {
    return protocol::adapter_already_loaded(request.name);
  }
  if (!enabled_) return protocol::adapters_not_enabled();
  Adapter adapter{.name = request.name, .path = request.path, .parent = parent_};
  if (it != adapters_.end()) {
    adapter.id = (*it)->id;
    *it = std::make_shared<Adapter>(std::move(adapter));
    return std::nullopt;
  }
  if (adapters_.size() == kAdaptersMax) {
    return protocol::engine_error(
        400,
        fmt::format("{} adapters are loaded, as many as a simulated engine holds", kAdaptersMax));
  }
  adapter.id = ++last_id_;
  adapters_.push_back(std::make_shared<Adapter>(std::move(adapter)));
  return std::nullopt;
}

protocol::Refusal Adapters::unload(const protocol::UnloadAdapterRequest& request) {
  const size_t erased =
      std::erase_if(adapters_, [&](const auto& adapter) { return adapter->name == request.name; });
  if (erased == 0) return protocol::adapter_not_found(request.name);
  return std::nullopt;
}

}  // namespace fairlead::engine
