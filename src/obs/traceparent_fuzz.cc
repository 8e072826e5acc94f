// A traceparent field: what is accepted is written back to one that means the same.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "obs/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead::obs;
  const auto context = parse_traceparent({reinterpret_cast<const char*>(data), size});
  if (!context) return 0;
  std::string out;
  append_traceparent(out, *context);
  CHECK(parse_traceparent(out) == context, "a written traceparent reads as it was");
  return 0;
}
