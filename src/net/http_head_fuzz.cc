// Any bytes as a request head and as an answer's head: no crash, and what is accepted parses the
// same when it arrives in two pieces.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "net/http_head.h"

using namespace fairlead::net;  // NOLINT: a fuzz target is one function

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const HeadLimits limits;
  HeadScanner whole;
  if (whole.scan(bytes, limits) != HeadScanner::Status::kComplete) return 0;
  HeadScanner split;
  HeadScanner::Status status = split.scan(bytes.substr(0, size / 2), limits);
  if (status == HeadScanner::Status::kMore) status = split.scan(bytes, limits);
  CHECK(status == HeadScanner::Status::kComplete && split.head_bytes() == whole.head_bytes(),
        "splitting changes nothing");
  const std::string_view head = bytes.substr(0, whole.head_bytes());
  RequestHead request;
  if (!parse_request_head(head, limits, request)) {
    CHECK(!request.method.empty() && request.fields.size() <= limits.fields_max,
          "a parsed head is whole");
    for (const Field& field : request.fields) {
      CHECK(field.value.find_first_of("\r\n") == std::string_view::npos, "no line ends in values");
    }
  }
  ResponseHead response;
  static_cast<void>(parse_response_head(head, limits, AnswerTo::kOther, response));
  return 0;
}
