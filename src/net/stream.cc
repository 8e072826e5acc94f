#include "net/stream.h"

#include <string>

namespace fairlead::net {

void ByteStream::cancel_on_hangup(rt::Scope* scope) {
  hangup_scope_ = scope;
  if (scope != nullptr && hung_up_) scope->cancel(rt::CancelReason::kClientGone);
}

void ByteStream::set_hung_up() {
  hung_up_ = true;
  if (hangup_scope_ != nullptr) hangup_scope_->cancel(rt::CancelReason::kClientGone);
  if (above_ != nullptr) above_->below_readable();
}

base::Error wait_error(rt::WaitStatus status, const rt::Scope& scope) {
  if (status == rt::WaitStatus::kTimedOut) {
    return base::Error(base::ErrorCode::kDeadlineExceeded, "deadline exceeded");
  }
  return scope.error();
}

base::Error reset_error(std::string_view what) {
  return base::Error(base::ErrorCode::kConnectionReset, std::string(what));
}

rt::Task<base::Result<size_t>> read_some(ByteStream& stream, std::span<char> into,
                                         base::TimePoint deadline) {
  for (;;) {
    const rt::WaitStatus status = co_await stream.wait_readable(deadline);
    if (status != rt::WaitStatus::kReady) {
      co_return wait_error(status, co_await rt::current_scope());
    }
    const IoResult io = stream.try_read(into);
    switch (io.kind) {
      case IoResult::Kind::kBytes:
        co_return io.count;
      case IoResult::Kind::kEof:
        co_return size_t{0};
      case IoResult::Kind::kReset:
        co_return reset_error("connection reset while reading");
      case IoResult::Kind::kWouldBlock:
        break;
    }
  }
}

rt::Task<base::Result<>> write_all(ByteStream& stream, std::span<iovec> pieces,
                                   base::TimePoint deadline) {
  while (!pieces.empty()) {
    const rt::WaitStatus status = co_await stream.wait_writable(deadline);
    if (status != rt::WaitStatus::kReady) {
      co_return wait_error(status, co_await rt::current_scope());
    }
    const IoResult io = stream.try_write(pieces);
    if (io.kind == IoResult::Kind::kReset) co_return reset_error("connection reset while writing");
    size_t taken = io.kind == IoResult::Kind::kBytes ? io.count : 0;
    while (!pieces.empty() && taken >= pieces[0].iov_len) {
      taken -= pieces[0].iov_len;
      pieces = pieces.subspan(1);
    }
    if (!pieces.empty()) {
      pieces[0].iov_base = static_cast<char*>(pieces[0].iov_base) + taken;
      pieces[0].iov_len -= taken;
    }
  }
  co_return base::Result<>();
}

rt::Task<base::Result<>> write_all(ByteStream& stream, std::string_view bytes,
                                   base::TimePoint deadline) {
  iovec piece = iovec_of(bytes);
  co_return co_await write_all(stream, std::span<iovec>(&piece, bytes.empty() ? 0 : 1), deadline);
}

}  // namespace fairlead::net
