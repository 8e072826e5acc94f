#include "net/http_server.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "base/append.h"
#include "net/http_body.h"

namespace fairlead::net {
namespace {

constexpr size_t kRequestReadBytes = 8 * 1024;
// A connection keeps at most this much memory from one request to the next.
constexpr size_t kKeptBytesMax = 64 * 1024;
// After a refusal the client may still be sending: its bytes are read and dropped within these
// bounds, so that it sees the answer and not a reset.
constexpr size_t kLingerBytesMax = 256ULL << 20;
constexpr auto kLingerTime = std::chrono::seconds(5);
// Of the bytes held together a body takes what has come of it and this much more: a client that
// announces 64 MiB and sends nothing takes no room from others.
constexpr size_t kHoldAheadMin = 64 * 1024;
constexpr std::string_view kTooManyBodies = "too many request bodies are held";
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

std::string_view date_field(const rt::Loop& loop) {
  // One a thread: a loop has a thread of its own, and virtual loops agree on the second.
  thread_local int64_t second = -1;
  thread_local std::string line;
  const auto now =
      std::chrono::floor<std::chrono::seconds>(loop.clock().wall()).time_since_epoch().count();
  if (now != second) {
    second = now;
    const auto time = static_cast<std::time_t>(now);
    std::tm utc{};
    gmtime_r(&time, &utc);
    std::array<char, 64> text{};
    const size_t n =
        std::strftime(text.data(), text.size(), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &utc);
    line.assign(text.data(), n);
  }
  return line;
}

base::TimePoint body_deadline(const ServerOptions& options, base::TimePoint began,
                              base::TimePoint now, uint64_t received) {
  const base::TimePoint idle = base::after(now, options.body_idle_timeout);
  if (options.body_rate_min.count == 0) return idle;
  constexpr double kSecondsMax = 1e9;  // more is no time that a TimePoint can tell
  const double seconds =
      std::min(kSecondsMax,
               static_cast<double>(received) / static_cast<double>(options.body_rate_min.count));
  const base::TimePoint slow = base::after(base::after(began, options.body_idle_timeout),
                                           base::Nanos(static_cast<int64_t>(seconds * 1e9)));
  return std::min(idle, slow);
}

void Exchange::write_head(Answer answer, Framing framing, size_t length) {
  out_.clear();
  out_ += "HTTP/1.1 ";
  base::append_decimal(out_, static_cast<uint64_t>(answer.status));
  out_.append(" ").append(reason_phrase(answer.status)).append("\r\n");
  out_ += date_field(connection_.loop);
  if (!answer.content_type.empty()) {
    out_.append("Content-Type: ").append(answer.content_type).append("\r\n");
  }
  out_ += answer.extra_fields;
  connection_.handler.append_fields(out_, request_);
  switch (framing) {
    case Framing::kCounted:
      out_ += "Content-Length: ";
      base::append_decimal(out_, length);
      out_ += "\r\n";
      break;
    case Framing::kChunked:
      out_ += "Transfer-Encoding: chunked\r\n";
      break;
    case Framing::kClose:
      keep_alive_ = false;
      break;
  }
  if (!keep_alive()) {
    out_ += "Connection: close\r\n";
  } else if (request_.minor_version == 0) {
    out_ += "Connection: keep-alive\r\n";
  }
  out_ += "\r\n";
  mark_started();
}

rt::Task<base::Result<>> Exchange::respond(Answer answer, std::string_view body) {
  CHECK(!started_, "one answer to a request");
  write_head(answer, Framing::kCounted, body.size());
  if (request_.method == "HEAD") body = {};
  std::array<iovec, 2> pieces = {{{out_.data(), out_.size()}, iovec_of(body)}};
  const size_t count = body.empty() ? 1 : 2;
  base::Result<> written =
      co_await write_all(connection_.stream, std::span(pieces).first(count), write_deadline());
  finished_ = written.ok();
  co_return written;
}

rt::Task<base::Result<>> Exchange::start(Answer answer) {
  CHECK(!started_, "one answer to a request");
  chunked_ = request_.minor_version == 1;
  write_head(answer, chunked_ ? Framing::kChunked : Framing::kClose, 0);
  co_return co_await write_all(connection_.stream, out_, write_deadline());
}

rt::Task<base::Result<>> Exchange::write(std::string_view piece) {
  if (piece.empty()) co_return base::Result<>();
  if (!chunked_) co_return co_await write_all(connection_.stream, piece, write_deadline());
  out_.clear();
  base::append_hex(out_, piece.size());
  out_ += "\r\n";
  std::array<iovec, 3> pieces = {{{out_.data(), out_.size()}, iovec_of(piece), iovec_of("\r\n")}};
  co_return co_await write_all(connection_.stream, pieces, write_deadline());
}

rt::Task<base::Result<>> Exchange::finish() {
  base::Result<> written;
  if (chunked_)
    written =
        co_await write_all(connection_.stream, std::string_view("0\r\n\r\n"), write_deadline());
  finished_ = written.ok();
  co_return written;
}

// One connection: reads a request, has it handled, and again.
//
// None of its tasks is inlined: the frame of an inlined task is folded into the frame of the task
// that awaits it, and then those of all tasks that may ever be awaited lie side by side, 10 KiB of
// them, for as long as the connection is open.
class HttpServer::Connection final : public rt::ListNode, private RequestMemory {
 public:
  Connection(HttpServer& server, ByteStream& stream, rt::Scope& parent)
      : server_(server), stream_(stream), loop_(server.network_.loop()), scope_(parent) {
    head_.peer = stream.peer();
  }

  rt::Task<void> serve() {
    for (;;) {
      const bool go_on = co_await serve_one();
      if (!go_on) co_return;
      if (in_.empty() && in_.capacity() > kKeptBytesMax) in_.release();
      if (out_.capacity() > kKeptBytesMax) out_ = std::string();
      if (body_.capacity() > kKeptBytesMax) body_ = std::string();
    }
  }
  rt::Scope& scope() { return scope_; }

 private:
  enum class Read : uint8_t { kDone, kClose, kRefused };
  const ServerOptions& options() const { return server_.options_; }
  Exchange::Connection lent() {
    return {stream_,           loop_, options().write_timeout, out_,
            server_.draining_, *this, server_.handler_};
  }

  // False: close the connection.
  [[gnu::noinline]] rt::Task<bool> serve_one() {
    Read read = co_await read_head();
    if (read == Read::kDone) {
      std::optional<Refusal> refused = server_.handler_.check(head_);
      if (refused) {
        co_await refuse(std::move(*refused), /*body_follows=*/head_.body != BodyKind::kNone);
        co_return refusal_kept_alive_;
      }
      if (!body_has_come()) read = co_await read_body();
    }
    if (read != Read::kDone) {
      give_back();
      co_return false;
    }
    const bool go_on = co_await handle();
    give_back();
    co_return go_on;
  }

  [[gnu::noinline]] rt::Task<bool> handle() {
    ++server_.requests_active_;
    bool go_on = false;
    {
      rt::Scope request(scope_);
      Exchange exchange(lent(), head_, body_view_);
      stream_.cancel_on_hangup(&request);
      co_await server_.handler_.handle(exchange).in(request);
      stream_.cancel_on_hangup(nullptr);
      go_on = exchange.finished() && exchange.keep_alive() && !stream_.hung_up();
      // A stream that broke off must not look like one that ended.
      if (exchange.started() && !exchange.finished()) stream_.abort();
    }
    --server_.requests_active_;
    in_.consume(consumed_);
    consumed_ = 0;
    co_return go_on;
  }

  void drop_request() override {
    in_.consume(consumed_);
    consumed_ = 0;
    if (in_.empty()) in_.release();
    body_ = std::string();
    give_back();
  }

  [[gnu::noinline]] rt::Task<Read> read_head() {
    if (in_.empty()) {
      const bool arrived = co_await wait_for_request();
      if (!arrived) co_return Read::kClose;
    }
    const base::TimePoint deadline = base::after(loop_.now(), options().head_timeout);
    scanner_.reset();
    bool skipped_line = false;
    for (;;) {
      // One empty line before a request is tolerated (RFC 9112 2.2).
      if (!skipped_line && in_.data().starts_with("\r\n")) {
        in_.consume(2);
        skipped_line = true;
      }
      const HeadScanner::Status status = scanner_.scan(in_.data(), options().head);
      if (status == HeadScanner::Status::kComplete) break;
      if (status == HeadScanner::Status::kBareLf)
        co_return co_await refuse_head({400, "bare LF in the head"});
      if (status == HeadScanner::Status::kTooLarge) {
        co_return co_await refuse_head({431, "request head too large"});
      }
      const base::Result<size_t> n =
          co_await read_some(stream_, in_.room(kRequestReadBytes / 2), deadline);
      if (!n && n.error().code() == base::ErrorCode::kDeadlineExceeded && !in_.empty()) {
        co_return co_await refuse_head({408, "request head not complete in time"});
      }
      if (!n || *n == 0) co_return Read::kClose;
      in_.commit(*n);
    }
    const std::string_view bytes = in_.data().substr(0, scanner_.head_bytes());
    if (const HeadError error = parse_request_head(bytes, options().head, head_)) {
      co_return co_await refuse_head(error);
    }
    co_return Read::kDone;
  }

  // Holds no memory while it waits.
  [[gnu::noinline]] rt::Task<bool> wait_for_request() {
    if (server_.closing_idle_) co_return false;
    if (in_.capacity() > 0) in_.release();
    server_.idle_.push_back(*this);
    const rt::WaitStatus status =
        co_await stream_.wait_readable(base::after(loop_.now(), options().idle_timeout));
    unlink();
    if (status != rt::WaitStatus::kReady) co_return false;
    const IoResult io = stream_.try_read(in_.room(kRequestReadBytes));
    if (io.kind == IoResult::Kind::kBytes) in_.commit(io.count);
    co_return io.kind == IoResult::Kind::kBytes || io.kind == IoResult::Kind::kWouldBlock;
  }

  // True if there is none, or it came together with its head and is taken.
  bool body_has_come() {
    const size_t head_bytes = scanner_.head_bytes();
    const bool counted = head_.body == BodyKind::kLength;
    if (!counted && head_.body != BodyKind::kNone) return false;
    const size_t length = counted ? head_.content_length : 0;
    if (length > options().body_bytes_max.count || length > in_.size() - head_bytes) return false;
    body_view_ = in_.data().substr(head_bytes, length);
    consumed_ = head_bytes + length;
    return true;
  }

  [[gnu::noinline]] rt::Task<Read> read_body() {
    const size_t head_bytes = scanner_.head_bytes();
    if (head_.body == BodyKind::kLength && head_.content_length > options().body_bytes_max.count) {
      co_return co_await refuse_body(413, "request body too large");
    }
    body_began_ = loop_.now();
    if (head_.expect_continue && in_.size() == head_bytes) {
      const base::Result<> sent =
          co_await write_all(stream_, kContinue, base::after(loop_.now(), options().write_timeout));
      if (!sent) co_return Read::kClose;
    }
    if (head_.body == BodyKind::kLength) co_return co_await read_counted_body(head_bytes);
    co_return co_await read_chunked_body(head_bytes);
  }

  // Head and body lie side by side in the input buffer: small bodies are never copied.
  [[gnu::noinline]] rt::Task<Read> read_counted_body(size_t head_bytes) {
    const uint64_t length = head_.content_length;
    const size_t total = head_bytes + length;
    if (in_.size() < total) {
      // What cannot fit now is refused before it is read.
      if (!could_hold(length)) co_return co_await refuse_body(503, kTooManyBodies);
      const char* before = in_.data().data();
      static_cast<void>(in_.room(total - in_.size()));
      if (in_.data().data() != before) reparse(head_bytes);
    }
    while (in_.size() < total) {
      const uint64_t received = in_.size() - head_bytes;
      if (!hold_ahead(received, length)) co_return co_await refuse_body(503, kTooManyBodies);
      size_t bytes_max = total - in_.size();
      if (options().held_bodies != nullptr) bytes_max = std::min(bytes_max, held_ - received);
      const Read read = co_await read_more(in_, bytes_max, received);
      if (read != Read::kDone) co_return read;
    }
    body_view_ = in_.data().substr(head_bytes, length);
    consumed_ = total;
    co_return Read::kDone;
  }

  // The head stays at the front of the input buffer; decoded bytes go to a buffer of their own.
  [[gnu::noinline]] rt::Task<Read> read_chunked_body(size_t head_bytes) {
    body_.clear();
    BodyDecoder decoder(BodyKind::kChunked, 0);
    size_t position = head_bytes;
    for (;;) {
      const BodyDecoder::Step step = decoder.step(in_.data().substr(position));
      position += step.consumed;
      if (body_.size() + step.data.size() > options().body_bytes_max.count) {
        co_return co_await refuse_body(413, "request body too large");
      }
      if (!step.data.empty() && !hold(step.data.size())) {
        co_return co_await refuse_body(503, kTooManyBodies);
      }
      body_ += step.data;
      if (step.status == BodyDecoder::Status::kEnd) break;
      if (step.status == BodyDecoder::Status::kError)
        co_return co_await refuse_body(400, "invalid chunked body");
      if (step.status == BodyDecoder::Status::kMore) continue;
      // What was decoded is taken out from behind the head, so the buffer stays small.
      const std::string rest(in_.data().substr(position));
      const std::string head(in_.data().substr(0, head_bytes));
      in_.clear();
      in_.append(head);
      in_.append(rest);
      position = head_bytes;
      const char* before = in_.data().data();
      static_cast<void>(in_.room(kRequestReadBytes));
      if (in_.data().data() != before) reparse(head_bytes);
      const Read read = co_await read_more(in_, kRequestReadBytes, body_.size());
      if (read != Read::kDone) co_return read;
      reparse(head_bytes);
    }
    body_view_ = body_;
    consumed_ = position;
    co_return Read::kDone;
  }

  [[gnu::noinline]] rt::Task<Read> read_more(Buffer& buffer, size_t bytes_max, uint64_t received) {
    std::span<char> room = buffer.room(1);
    if (room.size() > bytes_max) room = room.first(bytes_max);
    const base::Result<size_t> n = co_await read_some(
        stream_, room, body_deadline(options(), body_began_, loop_.now(), received));
    if (!n && n.error().code() == base::ErrorCode::kDeadlineExceeded) {
      co_return co_await refuse_body(408, "request body not complete in time");
    }
    if (!n || *n == 0) co_return Read::kClose;
    buffer.commit(*n);
    co_return Read::kDone;
  }

  // The buffer has moved: the head's views are made again.
  void reparse(size_t head_bytes) {
    const HeadError error =
        parse_request_head(in_.data().substr(0, head_bytes), options().head, head_);
    CHECK(!error, "a head that parsed parses again");
  }

  bool could_hold(uint64_t bytes) const {
    return options().held_bodies == nullptr ||
           options().held_bodies->has_room(options().loop, bytes);
  }
  // What has come of a body of `length`, and some more.
  bool hold_ahead(uint64_t received, uint64_t length) {
    if (held_ > received) return true;
    const uint64_t wanted = std::min(length, received + received / 4 + kHoldAheadMin);
    return hold(wanted - held_);
  }
  bool hold(uint64_t bytes) {
    if (options().held_bodies == nullptr) return true;
    if (!options().held_bodies->try_take(options().loop, bytes)) return false;
    held_ += bytes;
    return true;
  }
  void give_back() {
    if (held_ > 0) options().held_bodies->give_back(options().loop, held_);
    held_ = 0;
  }

  [[gnu::noinline]] rt::Task<Read> refuse_head(HeadError error) {
    head_.method = "GET";
    head_.fields.clear();
    head_.minor_version = 1;
    head_.keep_alive = false;
    co_await refuse(server_.handler_.refusal(error.status, error.message), /*body_follows=*/true);
    co_return Read::kRefused;
  }
  [[gnu::noinline]] rt::Task<Read> refuse_body(int status, std::string_view message) {
    co_await refuse(server_.handler_.refusal(status, message), /*body_follows=*/true);
    co_return Read::kRefused;
  }

  // Without a body to come the connection lives on; else it is closed in order.
  [[gnu::noinline]] rt::Task<void> refuse(Refusal refusal, bool body_follows) {
    Exchange exchange(lent(), head_, {});
    if (body_follows) exchange.close_after();
    const base::Result<> sent = co_await exchange.respond(
        {refusal.status, refusal.content_type, refusal.extra_fields}, refusal.body);
    refusal_kept_alive_ = sent.ok() && exchange.keep_alive();
    if (refusal_kept_alive_) {
      in_.consume(scanner_.head_bytes());
    } else if (sent) {
      co_await linger();
    }
  }

  [[gnu::noinline]] rt::Task<void> linger() {
    stream_.shutdown_write();
    in_.clear();
    const base::TimePoint deadline = base::after(loop_.now(), kLingerTime);
    size_t dropped = 0;
    while (dropped < kLingerBytesMax) {
      const base::Result<size_t> n =
          co_await read_some(stream_, in_.room(kRequestReadBytes), deadline);
      if (!n || *n == 0) co_return;
      dropped += *n;
    }
  }

  HttpServer& server_;
  ByteStream& stream_;
  rt::Loop& loop_;
  rt::Scope scope_;
  Buffer in_;
  HeadScanner scanner_;
  RequestHead head_;
  std::string body_;
  std::string_view body_view_;
  std::string out_;
  size_t consumed_ = 0;
  uint64_t held_ = 0;
  base::TimePoint body_began_{};
  bool refusal_kept_alive_ = false;
};

HttpServer::HttpServer(Network& network, Handler& handler, ServerOptions options)
    : network_(network),
      handler_(handler),
      options_(options),
      accepting_(network.loop()),
      connections_(network.loop()) {}

HttpServer::~HttpServer() = default;

base::Result<> HttpServer::listen(const Address& address, PortSharing sharing) {
  base::Result<std::unique_ptr<Listener>> listener = network_.listen(address, sharing);
  if (!listener) return listener.error();
  listen(std::move(*listener));
  return {};
}

void HttpServer::listen(std::unique_ptr<Listener> listener) {
  if (options_.tls != nullptr) {
    listener = listen_tls(std::move(listener), *options_.tls, network_.loop(),
                          {.handshake_timeout = options_.head_timeout});
  }
  listeners_.push_back(std::move(listener));
}

rt::Task<void> HttpServer::run() {
  for (size_t i = 0; i < listeners_.size(); ++i) accepting_.spawn(accept_loop(i));
  rt::Scope& scope = co_await rt::current_scope();
  while (accepting_.running() > 0 || connections_.running() > 0) {
    const rt::WaitStatus status = co_await ended_.wait();
    if (status == rt::WaitStatus::kCancelled) {
      accepting_.cancel(scope.reason());
      connections_.cancel(scope.reason());
      break;
    }
  }
  static_cast<void>(co_await accepting_.join());
  static_cast<void>(co_await connections_.join());
}

rt::Task<void> HttpServer::accept_loop(size_t listener) {
  for (;;) {
    base::Result<std::unique_ptr<ByteStream>> stream = co_await listeners_[listener]->accept();
    if (!stream) break;
    connections_.spawn(serve(std::move(*stream)));
  }
  listeners_[listener].reset();
  ended_.notify_all();
}

rt::Task<void> HttpServer::serve(std::unique_ptr<ByteStream> stream) {
  {
    Connection connection(*this, *stream, connections_.scope());
    co_await connection.serve().in(connection.scope());
  }
  stream.reset();
  ended_.notify_all();
}

void HttpServer::stop_accepting() { accepting_.cancel(rt::CancelReason::kShutdown); }

void HttpServer::drain() {
  draining_ = closing_idle_ = true;
  while (Connection* connection = idle_.front()) {
    connection->unlink();
    connection->scope().cancel(rt::CancelReason::kShutdown);
  }
}

rt::Task<bool> HttpServer::drained(base::TimePoint deadline) {
  while (connections_.running() > 0) {
    const rt::WaitStatus status = co_await ended_.wait(deadline);
    if (status != rt::WaitStatus::kReady) {
      connections_.cancel(rt::CancelReason::kShutdown);
      co_return false;
    }
  }
  co_return true;
}

}  // namespace fairlead::net
