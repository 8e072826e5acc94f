#include "pick/table.h"

#include <algorithm>

namespace fairlead::pick {

Table::Table(std::span<const Replica> replicas) {
  for (const Replica& replica : replicas) {
    for (const std::string& name : replica.models) models_[name].slots.push_back(replica.slot);
  }
  for (auto& [name, model] : models_) {
    std::sort(model.slots.begin(), model.slots.end());
    model.slots.erase(std::unique(model.slots.begin(), model.slots.end()), model.slots.end());
  }
}

const Model* Table::find(std::string_view name) const {
  const auto it = models_.find(name);
  return it == models_.end() ? nullptr : &it->second;
}

}  // namespace fairlead::pick
