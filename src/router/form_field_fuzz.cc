// The first line is the Content-Type, the rest a form: whatever it is, a field is a part of it.
#include "router/form_field.h"

#include <cstdint>
#include <cstdlib>
#include <functional>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t line = input.find('\n');
  if (line == std::string_view::npos) return 0;
  const std::string_view body = input.substr(line + 1);
  const std::string_view found = fairlead::router::form_field(input.substr(0, line), body, "model");
  const std::less<const char*> before;
  const bool within =
      found.empty() || (!before(found.data(), body.data()) &&
                        !before(body.data() + body.size(), found.data() + found.size()));
  if (!within) std::abort();
  return 0;
}
