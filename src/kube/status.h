// The API server's errors (a `Status` object, or only an HTTP status) as base::Error, whose code
// says what the caller should do. This mapping exists here alone.
//
//   kConflict: read again and write again.  kAlreadyExists: another has the name.
//   kExpired: the resourceVersion or continue token is too old (or of another history): list anew.
//   kResourceExhausted, kUnavailable: wait, for retry_after() where the server said so.
//
// Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace fairlead::kube {

// `http_status` is 0 for a Status that came in a watch.
base::Error status_error(int http_status, std::string_view body,
                         std::optional<std::chrono::milliseconds> retry_after);

// The value of Retry-After, in seconds; the form with a date is not used by API servers.
std::optional<std::chrono::milliseconds> parse_retry_after(std::string_view value);

}  // namespace fairlead::kube
