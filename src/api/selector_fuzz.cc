#include <cstdint>
#include <string_view>

#include "api/label_selector.h"
#include "base/check.h"

// A selector's text means the same selector.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead::api;
  const auto selector = parse_selector({reinterpret_cast<const char*>(data), size});
  if (!selector) return 0;
  CHECK(check_selector(*selector).ok(), "what the parser takes is valid");
  const auto again = parse_selector(to_text(*selector));
  CHECK(again.ok(), "a selector's text is a selector");
  for (const Labels& labels : {Labels{}, Labels{{"a", "b"}}, Labels{{"a", ""}, {"b", "c"}}}) {
    CHECK(matches(*again, labels) == matches(*selector, labels), "and the same one");
  }
  return 0;
}
