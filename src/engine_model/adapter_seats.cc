#include "engine_model/adapter_seats.h"

#include <algorithm>

#include "base/check.h"

namespace fairlead::engine_model {

const AdapterSeats::Use* AdapterSeats::find(uint32_t adapter) const {
  const auto it = std::find_if(uses_.begin(), uses_.end(),
                               [&](const Use& use) { return use.adapter == adapter; });
  return it == uses_.end() ? nullptr : &*it;
}

AdapterSeats::Use& AdapterSeats::use(uint32_t adapter) {
  const Use* found = find(adapter);
  CHECK(found != nullptr, "an adapter without requests");
  return uses_[static_cast<size_t>(found - uses_.data())];
}

void AdapterSeats::forget_if_unused(uint32_t adapter) {
  std::erase_if(uses_, [&](const Use& use) {
    return use.adapter == adapter && use.waiting == 0 && use.running == 0;
  });
}

bool AdapterSeats::may_run(uint32_t adapter) const {
  if (adapter == 0 || running_adapters_ < max_) return true;
  const Use* found = find(adapter);
  return found != nullptr && found->running > 0;
}

void AdapterSeats::waits(uint32_t adapter) {
  if (adapter == 0) return;
  if (find(adapter) == nullptr) uses_.push_back({.adapter = adapter});
  ++use(adapter).waiting;
}

void AdapterSeats::starts(uint32_t adapter) {
  if (adapter == 0) return;
  Use& moved = use(adapter);
  --moved.waiting;
  if (moved.running++ == 0) ++running_adapters_;
}

void AdapterSeats::ends(uint32_t adapter) {
  if (adapter == 0) return;
  if (--use(adapter).running == 0) --running_adapters_;
  forget_if_unused(adapter);
}

void AdapterSeats::leaves(uint32_t adapter) {
  if (adapter == 0) return;
  --use(adapter).waiting;
  forget_if_unused(adapter);
}

uint32_t AdapterSeats::deferred() const {
  uint32_t count = 0;
  for (const Use& use : uses_) {
    if (!may_run(use.adapter)) count += use.waiting;
  }
  return count;
}

}  // namespace fairlead::engine_model
