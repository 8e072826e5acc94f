// The tree parser never crashes, what it accepts survives writing and reading, and its grammar is
// the scanner's but for what the scanner leaves to the engine. What is thrown away ends where it
// would have been read to.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "codec/json.h"
#include "codec/json_scanner.h"

using namespace fairlead::codec;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = parse_json(text);
  JsonScanner in(text);
  const bool skipped = valid_utf8(text) && in.skip();
  if (skipped) {
    JsonScanner discarding(text);
    CHECK(discarding.discard() && discarding.offset() == in.offset(),
          "a value that is thrown away ends elsewhere");
  }
  const bool scanned = skipped && in.finish();
  if (!json) {
    const std::string& why = json.error().message();
    const bool left_to_the_engine =
        why.find("out of range") != std::string::npos || why.find("surrogate") != std::string::npos;
    CHECK(!scanned || left_to_the_engine, "the scanner accepts what the parser refuses");
    // An error always has a place.
    CHECK(why.starts_with("JSON at byte "), "a refusal without a place");
    return 0;
  }
  CHECK(scanned, "the parser accepts what the scanner refuses");
  const std::string once = to_string(*json);
  const auto again = parse_json(once);
  CHECK(again.ok(), "what was written does not read");
  CHECK(*again == *json, "what was written reads differently");
  return 0;
}
