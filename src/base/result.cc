#include "base/result.h"

namespace fairlead::base {

struct Error::Rep {
  std::atomic<uint32_t> references{1};
  ErrorCode code;
  std::string message;
  std::optional<Error> cause;
  std::optional<std::chrono::milliseconds> retry_after;

  Rep(ErrorCode c, std::string m) : code(c), message(std::move(m)) {}
};

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kUnauthenticated:
      return "unauthenticated";
    case ErrorCode::kPermissionDenied:
      return "permission_denied";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kAlreadyExists:
      return "already_exists";
    case ErrorCode::kExpired:
      return "expired";
    case ErrorCode::kResourceExhausted:
      return "resource_exhausted";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kDeadlineExceeded:
      return "deadline_exceeded";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kClosed:
      return "closed";
    case ErrorCode::kConnectionReset:
      return "connection_reset";
    case ErrorCode::kProtocol:
      return "protocol";
    case ErrorCode::kUnimplemented:
      return "unimplemented";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

Error::Error(ErrorCode code, std::string message) : rep_(new Rep(code, std::move(message))) {}

void Error::retain() const noexcept {
  if (rep_ != nullptr) rep_->references.fetch_add(1, std::memory_order_relaxed);
}

void Error::release() const noexcept {
  if (rep_ != nullptr && rep_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete rep_;
}

ErrorCode Error::code() const { return rep_->code; }
const std::string& Error::message() const { return rep_->message; }
const Error* Error::cause() const { return rep_->cause ? &*rep_->cause : nullptr; }
std::optional<std::chrono::milliseconds> Error::retry_after() const { return rep_->retry_after; }

std::string Error::describe() const {
  std::string text = message();
  for (const Error* e = cause(); e != nullptr; e = e->cause())
    text.append(": ").append(e->message());
  return text;
}

Error Error::wrap(std::string message) const {
  Error outer(code(), std::move(message));
  outer.rep_->cause = *this;
  outer.rep_->retry_after = retry_after();
  return outer;
}

Error Error::with_retry_after(std::chrono::milliseconds wait) const {
  Error copy(code(), message());
  copy.rep_->cause = rep_->cause;
  copy.rep_->retry_after = wait;
  return copy;
}

}  // namespace fairlead::base
