// TlsStream: one TLS connection over a ByteStream. Events of the stream below come in as calls and
// take it as far as it can go: through the handshake, then until the next application data is known
// to be there (SSL_peek), so that readable() and hung_up() say the truth without a read.
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/hash.h"
#include "net/tls.h"
#include "rt/intrusive_list.h"
#include "rt/timer.h"

namespace fairlead::net {
namespace {

constexpr size_t kRecordBytes = SSL3_RT_MAX_PLAIN_LENGTH;
// Taken by one try_write.
constexpr size_t kWriteBytesMax = 4 * kRecordBytes;
// What a peer may send without any application data: a handshake, key updates, tickets. Past it,
// it is only there to keep us busy.
constexpr size_t kSilentBytesMax = 128 * 1024;
constexpr std::string_view kPlainHttpAnswer =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: 120\r\n"
    "Connection: close\r\n\r\n"
    "{\"error\":{\"message\":\"This port speaks HTTPS only.\",\"type\":\"invalid_request_error\","
    "\"param\":null,\"code\":\"https_required\"}}";

BIO_METHOD* below_method();

}  // namespace

class TlsStream;
struct HandshakeLink : rt::ListNode {};

// The handshakes that one listener has under way.
struct Handshakes {
  rt::List<TlsStream, HandshakeLink> list;
  size_t count = 0;
};

class TlsStream final : public ByteStream,
                        public HandshakeLink,
                        private ByteStream::Above,
                        private rt::TimerNode {
 public:
  // The server's side.
  TlsStream(std::unique_ptr<ByteStream> below, TlsServer& server, rt::Loop& loop,
            base::Nanos timeout, std::shared_ptr<Handshakes> handshakes)
      : TlsStream(std::move(below), server.new_session()) {
    server_ = &server;
    handshakes_ = std::move(handshakes);
    handshakes_->list.push_back(*this);
    ++handshakes_->count;
    loop.timers().arm(*this, base::after(loop.now(), timeout));
    advance();
  }
  TlsStream(std::unique_ptr<ByteStream> below, const TlsClient& client, const std::string& host,
            const rt::Loop& loop)
      : TlsStream(std::move(below), client.new_session(host, loop.clock().wall())) {
    advance();
  }
  ~TlsStream() override {
    leave_handshakes();
    if (!write_closed_) say_end();
    busy_ = true;  // what the stream below still tells us is of no use
    SSL_free(ssl_);
    below_->set_above(nullptr);
  }
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  bool failed() const { return state_ == State::kFailed; }
  const std::string& failure() const { return failure_; }
  void give_up(std::string_view reason) { fail(std::string(reason)); }

  // ByteStream
  IoResult try_read(std::span<char> into) override;
  using ByteStream::try_write;
  IoResult try_write(std::span<const iovec> pieces) override;
  void shutdown_write() override {
    say_end();
    write_closed_ = true;
    below_->shutdown_write();
  }
  void abort() override {
    fail("aborted");
    below_->abort();
  }

  // For the BIO.
  IoResult read_below(std::span<char> into) {
    if (silent_bytes_ > kSilentBytesMax) return {IoResult::Kind::kReset, 0};
    const IoResult io = below_->try_read(into);
    if (io.kind == IoResult::Kind::kBytes) silent_bytes_ += io.count;
    below_ended_ = io.kind == IoResult::Kind::kEof;
    return io;
  }
  IoResult write_below(std::string_view bytes) { return below_->try_write(bytes); }
  bool below_ended() const { return below_ended_; }

 private:
  enum class State : uint8_t { kHandshake, kOpen, kEnded, kFailed };

  TlsStream(std::unique_ptr<ByteStream> below, SSL* ssl) : below_(std::move(below)), ssl_(ssl) {
    BIO* bio = BIO_new(below_method());
    CHECK(bio != nullptr, "out of memory");
    BIO_set_data(bio, this);
    SSL_set_bio(ssl_, bio, bio);
    set_writable(false);
    set_peer(below_->peer());
    below_->set_above(this);
  }

  void below_readable() override {
    if (busy_) {
      missed_ = true;
      return;
    }
    if (below_->hung_up() && !hung_up() && state_ != State::kFailed) set_hung_up();
    advance();
  }
  void below_writable() override {
    if (busy_) {
      missed_writable_ = true;
      return;
    }
    if (state_ == State::kHandshake || read_wants_write_) advance();
    if (state_ == State::kOpen || state_ == State::kEnded) set_writable(true);
  }
  void on_timer() override { fail("the handshake was not complete in time"); }

  // Calls OpenSSL; what comes from below meanwhile, it meets by itself or `missed_` says.
  template <class F>
  int call(F function) {
    busy_ = true;
    ERR_clear_error();
    const int rc = function();
    const int result = rc > 0 ? SSL_ERROR_NONE : SSL_get_error(ssl_, rc);
    busy_ = false;
    return result;
  }
  void advance();
  void shake_hands();
  void look_for_data();
  // An error of a read: the end, or a failure.
  void conclude(int error);
  void fail(std::string reason);
  std::string reason_of(int error) const;
  void answer_plain_http();
  void leave_handshakes();
  void say_end();
  std::string_view next_record(std::span<const iovec> pieces, size_t skip,
                               std::span<char> room) const;

  std::unique_ptr<ByteStream> below_;
  SSL* ssl_;
  TlsServer* server_ = nullptr;
  std::shared_ptr<Handshakes> handshakes_;
  State state_ = State::kHandshake;
  bool busy_ = false;
  bool missed_ = false;  // readable, and
  bool missed_writable_ = false;
  bool below_ended_ = false;
  bool write_closed_ = false;
  // A message of the handshake's kind, such as a ticket, is half read or half written.
  bool write_wants_read_ = false;
  bool read_wants_write_ = false;
  size_t silent_bytes_ = 0;
  size_t held_bytes_ = 0;  // of the record that the stream below has not taken whole
  uint64_t held_hash_ = 0;
  std::string failure_;
};

// ---- the BIO ------------------------------------------------------------------------------------

namespace {

TlsStream& stream_of(BIO* bio) { return *static_cast<TlsStream*>(BIO_get_data(bio)); }

int finish(BIO* bio, IoResult io, size_t* count, int retry_flag) {
  BIO_clear_retry_flags(bio);
  *count = io.count;
  if (io.kind == IoResult::Kind::kBytes) return 1;
  if (io.kind == IoResult::Kind::kWouldBlock)
    BIO_set_flags(bio, retry_flag | BIO_FLAGS_SHOULD_RETRY);
  return 0;
}

int read_below(BIO* bio, char* into, size_t size, size_t* count) {
  return finish(bio, stream_of(bio).read_below({into, size}), count, BIO_FLAGS_READ);
}

int write_below(BIO* bio, const char* from, size_t size, size_t* count) {
  return finish(bio, stream_of(bio).write_below({from, size}), count, BIO_FLAGS_WRITE);
}

long control_below(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return stream_of(bio).below_ended() ? 1 : 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* below_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "ByteStream");
    CHECK(made != nullptr, "out of memory");
    BIO_meth_set_read_ex(made, read_below);
    BIO_meth_set_write_ex(made, write_below);
    BIO_meth_set_ctrl(made, control_below);
    BIO_meth_set_create(made, [](BIO* bio) {
      BIO_set_init(bio, 1);
      return 1;
    });
    return made;
  }();
  return method;
}

}  // namespace

// ---- the way in ---------------------------------------------------------------------------------

void TlsStream::advance() {
  do {
    missed_ = missed_writable_ = false;
    if (state_ == State::kHandshake) shake_hands();
    if (state_ == State::kOpen) look_for_data();
    if (missed_writable_ && state_ != State::kHandshake) set_writable(true);
  } while (missed_ || missed_writable_);
}

void TlsStream::shake_hands() {
  const int error = call([this] { return SSL_do_handshake(ssl_); });
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return;
  if (error != SSL_ERROR_NONE) {
    answer_plain_http();
    return fail(reason_of(error));
  }
  state_ = State::kOpen;
  silent_bytes_ = 0;
  disarm();
  leave_handshakes();
  if (server_ != nullptr) server_->handshakes_.fetch_add(1, std::memory_order_relaxed);
  set_writable(true);
}

void TlsStream::look_for_data() {
  char byte = 0;
  size_t count = 0;
  const int error = call([&] { return SSL_peek_ex(ssl_, &byte, 1, &count); });
  if (write_wants_read_) {
    write_wants_read_ = false;
    set_writable(true);
  }
  if (error == SSL_ERROR_NONE) {
    set_readable(true);
  } else {
    conclude(error);
  }
}

void TlsStream::conclude(int error) {
  switch (error) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      read_wants_write_ = error == SSL_ERROR_WANT_WRITE;
      set_readable(false);
      break;
    case SSL_ERROR_ZERO_RETURN:
      state_ = State::kEnded;
      set_readable(true);
      if (!hung_up()) set_hung_up();
      break;
    default:
      fail(reason_of(error));
      break;
  }
}

IoResult TlsStream::try_read(std::span<char> into) {
  if (state_ == State::kOpen) {
    size_t count = 0;
    const int error = call([&] { return SSL_read_ex(ssl_, into.data(), into.size(), &count); });
    if (error == SSL_ERROR_NONE) {
      silent_bytes_ = 0;
      advance();
      return {IoResult::Kind::kBytes, count};
    }
    conclude(error);
  }
  if (state_ == State::kEnded) return {IoResult::Kind::kEof, 0};
  if (state_ == State::kFailed) return {IoResult::Kind::kReset, 0};
  if (missed_) {
    advance();
  } else {
    set_readable(false);
  }
  return {IoResult::Kind::kWouldBlock, 0};
}

// ---- the way out --------------------------------------------------------------------------------

// At most a record's worth of what follows the first `skip` bytes; copied only if it lies in
// several pieces.
std::string_view TlsStream::next_record(std::span<const iovec> pieces, size_t skip,
                                        std::span<char> room) const {
  const size_t wanted = held_bytes_ > 0 ? held_bytes_ : room.size();
  size_t filled = 0;
  for (const iovec& piece : pieces) {
    if (skip >= piece.iov_len) {
      skip -= piece.iov_len;
      continue;
    }
    const std::string_view rest(static_cast<const char*>(piece.iov_base) + skip,
                                piece.iov_len - skip);
    skip = 0;
    if (filled == 0 && rest.size() >= wanted) return rest.substr(0, wanted);
    const size_t n = std::min(rest.size(), wanted - filled);
    std::memcpy(room.data() + filled, rest.data(), n);
    filled += n;
    if (filled == wanted) break;
  }
  return {room.data(), filled};
}

IoResult TlsStream::try_write(std::span<const iovec> pieces) {
  if (state_ == State::kFailed || write_closed_) return {IoResult::Kind::kReset, 0};
  if (state_ == State::kHandshake) return {IoResult::Kind::kWouldBlock, 0};
  std::array<char, kRecordBytes> room;
  size_t total = 0;
  bool blocked = false;
  while (total < kWriteBytesMax && !blocked) {
    const std::string_view record = next_record(pieces, total, room);
    if (record.empty()) break;
    // OpenSSL would send the record it holds and count these bytes as sent.
    if (held_bytes_ > 0 && (record.size() != held_bytes_ || base::hash64(record) != held_hash_)) {
      fail("other bytes than those under way");
      return {IoResult::Kind::kReset, 0};
    }
    size_t count = 0;
    const int error =
        call([&] { return SSL_write_ex(ssl_, record.data(), record.size(), &count); });
    if (error == SSL_ERROR_NONE) {
      held_bytes_ = 0;
      total += count;
    } else if (error == SSL_ERROR_WANT_WRITE || error == SSL_ERROR_WANT_READ) {
      if (held_bytes_ == 0) held_hash_ = base::hash64(record);
      held_bytes_ = record.size();
      write_wants_read_ = error == SSL_ERROR_WANT_READ;
      set_writable(false);
      blocked = true;
    } else {
      fail(reason_of(error));
      return {IoResult::Kind::kReset, 0};
    }
  }
  if (missed_ || missed_writable_) {
    if (missed_writable_) set_writable(true);
    advance();
  }
  return {total > 0 ? IoResult::Kind::kBytes : IoResult::Kind::kWouldBlock, total};
}

// close_notify, unless a message has broken off.
void TlsStream::say_end() {
  const bool open = state_ == State::kOpen || state_ == State::kEnded;
  if (open && !write_closed_ && held_bytes_ == 0) {
    static_cast<void>(call([this] { return SSL_shutdown(ssl_); }));
    ERR_clear_error();
  }
}

// ---- the end ------------------------------------------------------------------------------------

std::string TlsStream::reason_of(int error) const {
  if (silent_bytes_ > kSilentBytesMax) return "too many bytes without data";
  const long verified = SSL_get_verify_result(ssl_);
  if (verified != X509_V_OK && SSL_get_verify_mode(ssl_) != SSL_VERIFY_NONE) {
    return fmt::format("the certificate is not accepted: {}",
                       X509_verify_cert_error_string(verified));
  }
  const char* reason = error == SSL_ERROR_SSL ? ERR_reason_error_string(ERR_peek_error()) : nullptr;
  return reason == nullptr ? "the connection broke off" : reason;
}

void TlsStream::fail(std::string reason) {
  if (state_ == State::kFailed) return;
  if (state_ == State::kHandshake && server_ != nullptr)
    server_->failed_.fetch_add(1, std::memory_order_relaxed);
  state_ = State::kFailed;
  failure_ = std::move(reason);
  ERR_clear_error();
  disarm();
  leave_handshakes();
  set_readable(true);
  set_writable(true);
  if (!hung_up()) set_hung_up();
}

// Who speaks plain HTTP here is told so.
void TlsStream::answer_plain_http() {
  if (server_ == nullptr || ERR_GET_REASON(ERR_peek_error()) != SSL_R_HTTP_REQUEST) return;
  static_cast<void>(below_->try_write(kPlainHttpAnswer));
}

void TlsStream::leave_handshakes() {
  if (handshakes_ == nullptr) return;
  unlink();
  --handshakes_->count;
  handshakes_.reset();
}

// ---- listening and connecting -------------------------------------------------------------------

namespace {

class TlsListener final : public Listener {
 public:
  TlsListener(std::unique_ptr<Listener> below, TlsServer& server, rt::Loop& loop,
              TlsListenOptions options)
      : below_(std::move(below)), server_(server), loop_(loop), options_(options) {}

  rt::Task<base::Result<std::unique_ptr<ByteStream>>> accept() override {
    base::Result<std::unique_ptr<ByteStream>> stream = co_await below_->accept();
    if (!stream) co_return stream.error();
    if (handshakes_->count >= options_.handshakes_max) {
      handshakes_->list.front()->give_up("too many handshakes at a time");
    }
    co_return std::unique_ptr<ByteStream>(std::make_unique<TlsStream>(
        std::move(*stream), server_, loop_, options_.handshake_timeout, handshakes_));
  }
  Address address() const override { return below_->address(); }

 private:
  std::unique_ptr<Listener> below_;
  TlsServer& server_;
  rt::Loop& loop_;
  TlsListenOptions options_;
  std::shared_ptr<Handshakes> handshakes_ = std::make_shared<Handshakes>();
};

}  // namespace

std::unique_ptr<Listener> listen_tls(std::unique_ptr<Listener> below, TlsServer& server,
                                     rt::Loop& loop, TlsListenOptions options) {
  CHECK(options.handshakes_max > 0, "a handshake is allowed");
  return std::make_unique<TlsListener>(std::move(below), server, loop, options);
}

rt::Task<base::Result<std::unique_ptr<ByteStream>>> start_tls(std::unique_ptr<ByteStream> below,
                                                              const TlsClient& client,
                                                              std::string host,
                                                              base::TimePoint deadline) {
  const rt::Scope& scope = co_await rt::current_scope();
  auto stream = std::make_unique<TlsStream>(std::move(below), client, host, scope.loop());
  const rt::WaitStatus status = co_await stream->wait_writable(deadline);
  if (status != rt::WaitStatus::kReady) {
    co_return wait_error(status, scope).wrap(fmt::format("TLS with {}", host));
  }
  if (stream->failed()) {
    co_return base::Error(base::ErrorCode::kUnavailable,
                          fmt::format("TLS with {}: {}", host, stream->failure()));
  }
  co_return std::unique_ptr<ByteStream>(std::move(stream));
}

rt::Task<base::Result<std::unique_ptr<ByteStream>>> connect_tls(Network& network,
                                                                const TlsClient& client,
                                                                Address address, std::string host,
                                                                base::TimePoint deadline) {
  base::Result<std::unique_ptr<ByteStream>> below = co_await network.connect(address, deadline);
  if (!below) co_return below.error();
  co_return co_await start_tls(std::move(*below), client, std::move(host), deadline);
}

}  // namespace fairlead::net
