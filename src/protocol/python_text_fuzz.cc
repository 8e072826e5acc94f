// Whatever codec's parser takes, Python's takes as well; what is printed is text again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "codec/json.h"
#include "protocol/python_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!codec::valid_utf8(text)) return 0;
  const auto json = codec::parse_json(text);
  const auto error = protocol::python_json_error(text);
  std::string repr;
  if (json) {
    CHECK(!error, "Python reads all JSON");
    protocol::append_python_repr(repr, *json);
  } else if (error) {
    CHECK(error->position <= text.size() && !error->message.empty(), "an error has a place");
  }
  protocol::append_python_repr(repr, text);
  CHECK(codec::valid_utf8(repr), "what is printed is text");
  return 0;
}
