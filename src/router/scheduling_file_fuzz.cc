// Any text reads as a scheduling file whose policy can be made, or is refused with words.
#include <cstdint>

#include "base/check.h"
#include "router/scheduling_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead::router;
  const auto scheduling = parse_scheduling({reinterpret_cast<const char*>(data), size});
  if (!scheduling) {
    CHECK(!scheduling.error().message().empty(), "a refusal without words");
    return 0;
  }
  CHECK(scheduling->policy().ok(), "what was read is no policy");
  CHECK(scheduling->warnings.size() <= kSchedulingWarningsMax + 1, "a bound is not kept");
  return 0;
}
