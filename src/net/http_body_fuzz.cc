// Any bytes as a chunked body: no crash, and the same result whether they come at once or one by
// one.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "net/http_body.h"

using namespace fairlead::net;  // NOLINT: a fuzz target is one function

namespace {

struct Result {
  std::string data;
  size_t consumed = 0;
  bool ended = false;
  bool failed = false;
};

Result decode(std::string_view bytes, size_t stride) {
  BodyDecoder decoder(BodyKind::kChunked, 0);
  Result result;
  for (size_t available = stride;; available += stride) {
    if (available > bytes.size()) available = bytes.size();
    for (;;) {
      const auto step = decoder.step(bytes.substr(result.consumed, available - result.consumed));
      result.consumed += step.consumed;
      result.data += step.data;
      if (step.status == BodyDecoder::Status::kMore) continue;
      result.ended = step.status == BodyDecoder::Status::kEnd;
      result.failed = step.status == BodyDecoder::Status::kError;
      break;
    }
    if (result.ended || result.failed || available == bytes.size()) return result;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Result whole = decode(bytes, size + 1);
  const Result single = decode(bytes, 1);
  CHECK(whole.failed == single.failed && whole.ended == single.ended, "splitting changes nothing");
  if (!whole.failed)
    CHECK(whole.data == single.data && whole.consumed == single.consumed, "same bytes");
  return 0;
}
