#include <cstdint>
#include <string_view>

#include "api/admission.h"
#include "api/apps.h"
#include "api/core.h"
#include "api/custom_resource.h"
#include "api/pod.h"
#include "api/volcano.h"
#include "base/check.h"

using namespace fairlead;

namespace {

// A view writes what it has read, and reads that as the same.
template <class View>
void check_view(const codec::Json& json) {
  const auto view = api::read<View>(json);
  if (!view) return;
  const std::string written = api::write(*view);
  const auto again = codec::parse_json(written);
  CHECK(again.ok(), "a view is written as JSON");
  const auto reread = api::read<View>(*again);
  CHECK(reread.ok(), "what a view writes can be read");
  CHECK(api::write(*reread) == written, "and is the same");
}

template <class... Views>
void check_views(const codec::Json& json) {
  (check_view<Views>(json), ...);
}

}  // namespace

// What passes a kind's schema can be read as its struct, and what that writes passes again. Objects
// that fail the schema must not crash the reader, nor the rules.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto json = codec::parse_json({reinterpret_cast<const char*>(data), size});
  if (!json || !json->is_object()) return 0;
  for (const api::CustomResource& resource : api::custom_resources()) {
    const api::Json stored = api::admit_fields(resource.schema, *json);
    CHECK(api::admit_fields(resource.schema, stored) == stored, "admitting twice changes nothing");
    const bool valid = api::check(resource.schema, stored).empty();
    const api::Json filled = resource.fill_in(stored);
    CHECK(resource.fill_in(filled) == filled, "filling in twice changes nothing");
    static_cast<void>(resource.check_rules(filled, api::Operation::kCreate));
    const auto written = resource.rewrite(stored, nullptr);
    if (!valid || !written) continue;
    const auto again = codec::parse_json(*written);
    CHECK(again.ok(), "a struct is written as JSON");
    CHECK(api::check(resource.schema, *again).empty(), "a valid object stays valid");
    CHECK(api::check(resource.schema, filled).empty(), "what is filled in is valid");
  }
  check_views<api::Pod, api::Service, api::EndpointSlice, api::ConfigMap, api::Secret, api::Node,
              api::Event, api::Lease, api::ControllerRevision, api::Deployment, api::Scale,
              api::PodGroup, api::HyperNode, api::Queue>(*json);
  return 0;
}
