// Whatever it finds wrong with a body, the parser refuses as well.
#include "router/json_refusal.h"

#include <cstdint>

#include "base/check.h"
#include "codec/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const std::string words = fairlead::router::json_refusal(body);
  if (!words.empty()) CHECK(!fairlead::codec::parse_json(body), "valid JSON was refused");
  return 0;
}
