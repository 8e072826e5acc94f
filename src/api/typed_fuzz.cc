#include <cstdint>
#include <string_view>

#include "api/admission.h"
#include "api/custom_resource.h"
#include "base/check.h"

// What passes a kind's schema can be read as its struct, and what that writes passes again. Objects
// that fail the schema must not crash the reader.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead;
  const auto json = codec::parse_json({reinterpret_cast<const char*>(data), size});
  if (!json || !json->is_object()) return 0;
  for (const api::CustomResource& resource : api::custom_resources()) {
    const api::Json stored = api::admit_fields(resource.schema, *json);
    CHECK(api::admit_fields(resource.schema, stored) == stored, "admitting twice changes nothing");
    const bool valid = api::check(resource.schema, stored).empty();
    const auto written = resource.rewrite(stored, nullptr);
    if (!valid || !written) continue;
    const auto again = codec::parse_json(*written);
    CHECK(again.ok(), "a struct is written as JSON");
    CHECK(api::check(resource.schema, *again).empty(), "a valid object stays valid");
  }
  return 0;
}
