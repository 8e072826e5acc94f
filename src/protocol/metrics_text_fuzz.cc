// Any bytes as an exposition.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "protocol/metrics_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead::protocol;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_engine_load(text);
  const std::string_view names[] = {"up", "a:b"};
  scan_metrics(text, names, [&](const MetricSample& sample) {
    CHECK(sample.name < 2, "only what was asked for");
    label_value(sample.labels, "le");
  });
  return 0;
}
