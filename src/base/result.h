// Result<T> and Error: what everything that may fail in operation returns.
//
//   Result<Config> load(const std::string& path);
//   auto config = load(path);
//   if (!config) return config.error().wrap("cannot start");
//   use(*config);
//
// An Error is one pointer wide, cheap to copy (a shared count) and immutable. Its code says what
// the caller should do; its message names the field, the value and what is allowed. Copies may be
// read on any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"

namespace fairlead::base {

// Chosen by what the caller does about it, not by what broke.
enum class ErrorCode : uint8_t {
  kInvalidArgument,    // the caller must change the request
  kUnauthenticated,    // present credentials
  kPermissionDenied,   // these credentials will not do
  kNotFound,           // the named thing does not exist
  kConflict,           // read again, then retry
  kAlreadyExists,      // the name is taken: look at what has it
  kExpired,            // what it was to go on from is gone: begin from the current state
  kResourceExhausted,  // the caller's own limit: wait, see retry_after()
  kUnavailable,        // another replica, or later, may serve it
  kDeadlineExceeded,   // out of time
  kCancelled,          // nobody wants the answer any more
  kClosed,             // the peer ended the stream in order
  kConnectionReset,    // the peer vanished in mid-exchange
  kProtocol,           // the peer broke the protocol: do not reuse the connection
  kUnimplemented,      // never here
  kInternal,           // our bug
};

std::string_view to_string(ErrorCode code);

class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message);
  Error(const Error& other) noexcept : rep_(other.rep_) { retain(); }
  Error(Error&& other) noexcept : rep_(std::exchange(other.rep_, nullptr)) {}
  Error& operator=(Error other) noexcept {
    std::swap(rep_, other.rep_);
    return *this;
  }
  ~Error() { release(); }

  ErrorCode code() const;
  const std::string& message() const;
  // "message: cause: cause of the cause"
  std::string describe() const;
  const Error* cause() const;
  std::optional<std::chrono::milliseconds> retry_after() const;

  // A new error of the same code whose cause is this one.
  Error wrap(std::string message) const;
  Error with_retry_after(std::chrono::milliseconds wait) const;

 private:
  struct Rep;
  explicit Error(Rep* rep) : rep_(rep) {}
  void retain() const noexcept;
  void release() const noexcept;
  Rep* rep_;
};

template <class T = void>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    CHECK(ok(), "value() of a failed Result");
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    CHECK(ok(), "value() of a failed Result");
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    CHECK(ok(), "value() of a failed Result");
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const {
    CHECK(!ok(), "error() of a successful Result");
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    CHECK(!ok(), "error() of a successful Result");
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

inline Error invalid_argument(std::string message) {
  return Error(ErrorCode::kInvalidArgument, std::move(message));
}

}  // namespace fairlead::base
