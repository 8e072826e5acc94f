#include "pick/filters/tried.h"

#include <algorithm>

namespace fairlead::pick {

void TriedFilter::apply(const Context& context) const {
  const std::span<const Slot> tried = context.query.tried;
  if (tried.empty()) return;
  std::erase_if(context.scratch.candidates, [&](Slot slot) {
    return std::find(tried.begin(), tried.end(), slot) != tried.end();
  });
}

}  // namespace fairlead::pick
