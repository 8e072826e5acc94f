#include <cstdint>
#include <string>
#include <string_view>

#include "api/cel.h"

// The first line is a rule, the rest its value as JSON: neither may crash, hang or grow without
// bound.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end = text.find('\n');
  if (end == std::string_view::npos || end > 2048) return 0;
  const auto value = codec::parse_json(text.substr(end + 1));
  if (!value) return 0;
  api::Schema schema;
  schema.preserve_unknown = true;
  schema.rules.push_back({std::string(text.substr(0, end)), "no"});
  const auto rules = api::CelRules::compile(schema);
  if (!rules) return 0;
  static_cast<void>(rules->check(*value, nullptr));
  static_cast<void>(rules->check(*value, &*value));
  return 0;
}
