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

std::string_view TriedFilter::why(const Context& context, Slot slot) const {
  const std::span<const Slot> tried = context.query.tried;
  return std::find(tried.begin(), tried.end(), slot) == tried.end() ? "" : "tried";
}

}  // namespace fairlead::pick
