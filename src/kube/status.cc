#include "kube/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "codec/json.h"

namespace fairlead::kube {
namespace {

using base::ErrorCode;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kBodyShown = 200;
constexpr seconds kRetryAfterMax{3600};

constexpr std::array<std::pair<std::string_view, ErrorCode>, 15> kReasons = {{
    {"AlreadyExists", ErrorCode::kAlreadyExists},
    {"BadRequest", ErrorCode::kInvalidArgument},
    {"Conflict", ErrorCode::kConflict},
    {"Expired", ErrorCode::kExpired},
    {"Forbidden", ErrorCode::kPermissionDenied},
    {"Gone", ErrorCode::kExpired},
    {"InternalError", ErrorCode::kUnavailable},
    {"Invalid", ErrorCode::kInvalidArgument},
    {"MethodNotAllowed", ErrorCode::kUnimplemented},
    {"NotFound", ErrorCode::kNotFound},
    {"ServerTimeout", ErrorCode::kUnavailable},
    {"ServiceUnavailable", ErrorCode::kUnavailable},
    {"Timeout", ErrorCode::kUnavailable},
    {"TooManyRequests", ErrorCode::kResourceExhausted},
    {"Unauthorized", ErrorCode::kUnauthenticated},
}};

ErrorCode code_of(int status) {
  switch (status) {
    case 401:
      return ErrorCode::kUnauthenticated;
    case 403:
      return ErrorCode::kPermissionDenied;
    case 404:
      return ErrorCode::kNotFound;
    case 405:
    case 406:
    case 415:
      return ErrorCode::kUnimplemented;
    case 409:
      return ErrorCode::kConflict;
    case 410:
      return ErrorCode::kExpired;
    case 429:
      return ErrorCode::kResourceExhausted;
    default:
      return status >= 400 && status < 500 ? ErrorCode::kInvalidArgument : ErrorCode::kUnavailable;
  }
}

std::string_view text_at(const codec::Json& object, std::string_view key) {
  const codec::Json* value = object.find(key);
  return value == nullptr ? std::string_view() : std::string_view(value->as_string());
}

// The server has not got as far as the resourceVersion it was asked for: it has another history.
bool is_ahead_of_server(const codec::Json& details) {
  const codec::Json* causes = details.find("causes");
  if (causes == nullptr) return false;
  return std::ranges::any_of(causes->items(), [](const codec::Json& cause) {
    return text_at(cause, "reason") == "ResourceVersionTooLarge";
  });
}

base::Error with_wait(const base::Error& error, std::optional<milliseconds> wait) {
  return wait ? error.with_retry_after(*wait) : error;
}

}  // namespace

std::optional<milliseconds> parse_retry_after(std::string_view value) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < 0) return std::nullopt;
  return std::min<milliseconds>(seconds(std::min<int64_t>(number, kRetryAfterMax.count())),
                                kRetryAfterMax);
}

base::Error status_error(int http_status, std::string_view body,
                         std::optional<milliseconds> retry_after) {
  const base::Result<codec::Json> status = codec::parse_json(body);
  if (!status || text_at(*status, "kind") != "Status") {
    return with_wait(base::Error(code_of(http_status), fmt::format("HTTP {}: {}", http_status,
                                                                   body.substr(0, kBodyShown))),
                     retry_after);
  }
  const codec::Json* number = status->find("code");
  if (number != nullptr && number->is_integer() && number->as_int() > 0) {
    http_status = static_cast<int>(std::min<int64_t>(number->as_int(), 599));
  }
  const std::string_view reason = text_at(*status, "reason");
  const auto* const known =
      std::ranges::find(kReasons, reason, &decltype(kReasons)::value_type::first);
  ErrorCode code = known == kReasons.end() ? code_of(http_status) : known->second;
  if (const codec::Json* details = status->find("details")) {
    if (is_ahead_of_server(*details)) code = ErrorCode::kExpired;
    const codec::Json* wait = details->find("retryAfterSeconds");
    if (!retry_after && wait != nullptr && wait->as_int() > 0) {
      retry_after = std::min<milliseconds>(
          seconds(std::min<int64_t>(wait->as_int(), kRetryAfterMax.count())), kRetryAfterMax);
    }
  }
  std::string message(text_at(*status, "message"));
  if (message.empty()) message = fmt::format("HTTP {} {}", http_status, reason);
  return with_wait(base::Error(code, std::move(message)), retry_after);
}

}  // namespace fairlead::kube
