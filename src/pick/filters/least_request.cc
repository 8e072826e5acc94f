#include "pick/filters/least_request.h"

namespace fairlead::pick {

void LeastRequestFilter::apply(const Context& context) const {
  const Columns& columns = context.columns;
  std::erase_if(context.scratch.candidates,
                [&](Slot slot) { return columns.waiting(slot) >= options_.waiting_max; });
}

std::string_view LeastRequestFilter::why(const Context& context, Slot slot) const {
  return context.columns.waiting(slot) >= options_.waiting_max ? "queue" : "";
}

}  // namespace fairlead::pick
