// ByteStream: two directions of bytes over TCP or over memory. One loop.
//
// Calls never block: try_read and try_write do what is possible now, wait_readable and
// wait_writable suspend until it is worth trying again.
//
//   auto n = co_await read_some(stream, buffer, deadline);
//   auto done = co_await write_all(stream, {iov, 2}, deadline);
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "net/address.h"
#include "rt/task.h"
#include "rt/waiter.h"

namespace fairlead::net {

struct IoResult {
  enum class Kind : uint8_t { kBytes, kWouldBlock, kEof, kReset };
  Kind kind = Kind::kWouldBlock;
  size_t count = 0;
};

// As the system calls take what they only read.
inline iovec iovec_of(std::string_view bytes) {
  return {const_cast<char*>(bytes.data()), bytes.size()};
}

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // kBytes with count > 0, or why not. `into` is not empty.
  virtual IoResult try_read(std::span<char> into) = 0;
  // kBytes with how much was taken, perhaps not all. Never kEof.
  virtual IoResult try_write(std::span<const iovec> pieces) = 0;
  IoResult try_write(std::string_view bytes) {
    const iovec piece = iovec_of(bytes);
    return try_write({&piece, 1});
  }
  // The peer reads the end after what was written.
  virtual void shutdown_write() = 0;
  // Gives the stream up at once and tells the peer by a reset instead of an orderly end.
  virtual void abort() = 0;

  class [[nodiscard]] Ready {
   public:
    Ready(bool ready, rt::WaitList& list, base::TimePoint deadline)
        : ready_(ready), wait_(list.wait(deadline)) {}
    bool await_ready() const noexcept { return false; }
    template <class P>
    bool await_suspend(std::coroutine_handle<P> handle) {
      if (!ready_) return wait_.await_suspend(handle);
      cancelled_ = handle.promise().scope->cancelled();
      return false;
    }
    rt::WaitStatus await_resume() const noexcept {
      if (ready_) return cancelled_ ? rt::WaitStatus::kCancelled : rt::WaitStatus::kReady;
      return wait_.await_resume();
    }

   private:
    bool ready_;
    bool cancelled_ = false;
    rt::WaitList::Awaiter wait_;
  };
  // Ready at once unless the last try came back short or with kWouldBlock.
  Ready wait_readable(base::TimePoint deadline = base::kNever) {
    return Ready(readable_, readers_, deadline);
  }
  Ready wait_writable(base::TimePoint deadline = base::kNever) {
    return Ready(writable_, writers_, deadline);
  }

  bool readable() const { return readable_; }
  // Whom an accepted stream came from.
  const Address& peer() const { return peer_; }
  // The peer has closed its side or reset the stream; known without a read.
  bool hung_up() const { return hung_up_; }
  // While set, a hang-up of the peer cancels `scope` with kClientGone; at once if it has hung up.
  void cancel_on_hangup(rt::Scope* scope);

  // A stream that lies over this one (TLS), told at once when this one becomes readable, writable
  // or hangs up. It may read and write, but not destroy, this one meanwhile.
  class Above {
   public:
    virtual void below_readable() = 0;
    virtual void below_writable() = 0;

   protected:
    ~Above() = default;
  };
  void set_above(Above* above) { above_ = above; }

 protected:
  void set_readable(bool ready) {
    readable_ = ready;
    if (!ready) return;
    readers_.notify_all();
    if (above_ != nullptr) above_->below_readable();
  }
  void set_writable(bool ready) {
    writable_ = ready;
    if (!ready) return;
    writers_.notify_all();
    if (above_ != nullptr) above_->below_writable();
  }
  void set_hung_up();
  void set_peer(const Address& peer) { peer_ = peer; }

 private:
  bool readable_ = false;
  bool writable_ = true;
  bool hung_up_ = false;
  rt::Scope* hangup_scope_ = nullptr;
  Above* above_ = nullptr;
  Address peer_;
  rt::WaitList readers_;
  rt::WaitList writers_;
};

// The error of a wait that did not end in kReady.
base::Error wait_error(rt::WaitStatus status, const rt::Scope& scope);
// kConnectionReset with a word about `what`.
base::Error reset_error(std::string_view what);

// How many bytes arrived; 0 at the end of the stream.
rt::Task<base::Result<size_t>> read_some(ByteStream& stream, std::span<char> into,
                                         base::TimePoint deadline = base::kNever);
// Writes all of the pieces; `pieces` is used up on the way.
rt::Task<base::Result<>> write_all(ByteStream& stream, std::span<iovec> pieces,
                                   base::TimePoint deadline = base::kNever);
rt::Task<base::Result<>> write_all(ByteStream& stream, std::string_view bytes,
                                   base::TimePoint deadline = base::kNever);

}  // namespace fairlead::net
