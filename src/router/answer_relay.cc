#include "router/answer_relay.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/append.h"
#include "protocol/errors.h"
#include "router/passed_fields.h"

namespace fairlead::router {
namespace {

using base::ErrorCode;

constexpr size_t kUnsentKeptBytes = 64 * 1024;

base::Error client_gone() { return base::Error(ErrorCode::kCancelled, "the client is gone"); }

}  // namespace

rt::Task<AnswerRelay::End> AnswerRelay::run(rt::Scope& attempt, net::ClientConnection& connection) {
  AnswerFilter filter(write_head(connection.response()));
  last_event_ = shard_.loop().now();
  exchange_.mark_started();
  const base::Result<> done = co_await carry(attempt, connection, filter);
  usage_ = filter.usage();
  if (done) {
    exchange_.mark_finished();
    connection.mark_body_ended();
    co_return End::kComplete;
  }
  exchange_.close_after();
  if (client_failed_ || attempt.reason() == rt::CancelReason::kClientGone)
    co_return End::kClientGone;
  co_await break_off(filter, done.error());
  co_return End::kBrokenOff;
}

AnswerFilter::Options AnswerRelay::write_head(const net::ResponseHead& head) {
  const net::RequestHead& request = exchange_.request();
  AnswerFilter::Options options;
  options.body = head.body;
  options.length = head.content_length;
  options.events = head.value("content-type").starts_with("text/event-stream");
  options.cut_usage = options.events && request_.cut_usage;
  const bool counted = head.body == net::BodyKind::kLength && !options.cut_usage;
  const bool chunks = !counted && head.body != net::BodyKind::kNone && request.minor_version == 1;
  options.client = chunks ? AnswerFilter::Client::kChunked : AnswerFilter::Client::kPlain;
  if (!counted && !chunks && head.body != net::BodyKind::kNone) exchange_.close_after();

  head_ = shard_.take_text();
  head_ += "HTTP/1.1 ";
  base::append_decimal(head_, static_cast<uint64_t>(head.status));
  head_.append(" ").append(net::reason_phrase(head.status)).append("\r\n");
  append_passed_fields(head_, head, Authorization::kPass);
  shard_.append_fields(head_, request);
  head_.append("x-request-id: ").append(request_.request_id).append("\r\n");
  if (!request_.explanation.empty())
    head_.append("x-fairlead-explain: ").append(request_.explanation).append("\r\n");
  if (counted) {
    head_ += "content-length: ";
    base::append_decimal(head_, head.content_length);
    head_ += "\r\n";
  }
  if (chunks) head_ += "transfer-encoding: chunked\r\n";
  if (!exchange_.keep_alive()) {
    head_ += "connection: close\r\n";
  } else if (request.minor_version == 0) {
    head_ += "connection: keep-alive\r\n";
  }
  head_ += "\r\n";
  return options;
}

[[gnu::noinline]] rt::Task<base::Result<>> AnswerRelay::carry(rt::Scope& attempt,
                                                              net::ClientConnection& connection,
                                                              AnswerFilter& filter) {
  const RouterConfig& config = shard_.shared().config;
  net::Buffer& input = connection.input();
  // What came with the head and while the first event was awaited.
  pieces_.assign(1, net::iovec_of(head_));
  AnswerFilter::Status status =
      filter.ended() ? AnswerFilter::Status::kEnd : AnswerFilter::Status::kMore;
  if (status == AnswerFilter::Status::kMore && !input.empty()) {
    const AnswerFilter::Taken taken = filter.take(input.data(), pieces_);
    status = taken.status;
    co_await rt::end_of_turn(shard_.loop());  // like requests (proxy.cc)
    if (!try_send_to_client()) {
      const bool sent = co_await send_rest_to_client(attempt);
      if (!sent) co_return client_gone();
    }
    input.consume(taken.consumed);
    if (status == AnswerFilter::Status::kMore) {
      leftover_.assign(input.data());
      input.clear();
    }
  } else if (!try_send_to_client()) {
    const bool sent = co_await send_rest_to_client(attempt);
    if (!sent) co_return client_gone();
  }
  shard_.give_back(std::move(head_));
  // A stream may last for an hour: it holds no buffers but what a slow client has not taken.
  if (status == AnswerFilter::Status::kMore) {
    input.release();
    exchange_.drop_request();
  }
  while (status == AnswerFilter::Status::kMore) {
    attempt.set_deadline(
        std::min(request_.end, base::after(shard_.loop().now(), config.chunk_timeout)));
    const rt::WaitStatus ready = co_await connection.stream().wait_readable();
    if (ready != rt::WaitStatus::kReady) co_return attempt.error();
    std::span<char> room = shard_.read_room();
    std::copy(leftover_.begin(), leftover_.end(), room.begin());
    const net::IoResult io = connection.stream().try_read(room.subspan(leftover_.size()));
    pieces_.clear();
    switch (io.kind) {
      case net::IoResult::Kind::kWouldBlock:
        continue;
      case net::IoResult::Kind::kReset:
        co_return net::reset_error("the engine reset the connection");
      case net::IoResult::Kind::kEof:
        status = filter.close(pieces_);
        break;
      case net::IoResult::Kind::kBytes: {
        shard_.own_traffic().heard(request_.slot, shard_.loop().now());
        const std::string_view bytes(room.data(), leftover_.size() + io.count);
        const AnswerFilter::Taken taken = filter.take(bytes, pieces_);
        status = taken.status;
        note_events(filter);
        // Bytes past the end make the connection unfit for another request.
        if (status == AnswerFilter::Status::kEnd) {
          input.append(bytes.substr(taken.consumed));
        } else {
          leftover_.assign(bytes.substr(taken.consumed));
        }
        break;
      }
    }
    if (!try_send_to_client()) {
      const bool sent = co_await send_rest_to_client(attempt);
      if (!sent) co_return client_gone();
    }
  }
  if (status == AnswerFilter::Status::kEnd) co_return base::Result<>();
  co_return base::Error(ErrorCode::kProtocol, "the engine's answer broke off");
}

void AnswerRelay::note_events(const AnswerFilter& filter) {
  const size_t pieces = filter.pieces();
  if (!filter.options().events || pieces == 0) return;
  const base::TimePoint now = shard_.loop().now();
  const double seconds = base::to_seconds(now - last_event_);
  last_event_ = now;
  request_.token_gap.observe_many(seconds / static_cast<double>(pieces), pieces);
}

// True if the client took all. The pieces point into room that is shared, so the rest is copied
// before anything is waited for.
bool AnswerRelay::try_send_to_client() {
  size_t total = 0;
  for (const iovec& p : pieces_) total += p.iov_len;
  if (total == 0) return true;
  bytes_out_ += total;
  const net::IoResult io = exchange_.stream().try_write(pieces_);
  size_t taken = io.kind == net::IoResult::Kind::kBytes ? io.count : 0;
  if (taken == total) return true;
  client_failed_ = io.kind == net::IoResult::Kind::kReset;
  if (client_failed_) return false;
  unsent_.clear();
  for (const iovec& p : pieces_) {
    const size_t skip = std::min(taken, p.iov_len);
    taken -= skip;
    unsent_.append(static_cast<const char*>(p.iov_base) + skip, p.iov_len - skip);
  }
  return false;
}

// False when the client is gone or does not read.
[[gnu::noinline]] rt::Task<bool> AnswerRelay::send_rest_to_client(rt::Scope& attempt) {
  if (client_failed_) co_return false;
  // The engine's silence does not count while the client is what we wait for.
  attempt.set_deadline(base::kNever);
  const base::Result<> written =
      co_await net::write_all(exchange_.stream(), unsent_, exchange_.write_deadline());
  if (unsent_.capacity() > kUnsentKeptBytes) unsent_ = std::string();
  client_failed_ = !written.ok();
  co_return written.ok();
}

// A begun stream of events ends with an error event; anything else is cut off by the server, so
// that it does not look complete.
[[gnu::noinline]] rt::Task<void> AnswerRelay::break_off(AnswerFilter& filter,
                                                        const base::Error& error) {
  if (!filter.options().events) co_return;
  std::string json;
  protocol::append_error(
      json, {.status = 502,
             .message = fmt::format("The replica broke off its answer: {}.", error.message()),
             .type = "server_error",
             .code = "replica_failed"});
  pieces_.clear();
  filter.break_off(json, pieces_);
  unsent_.clear();
  for (const iovec& p : pieces_) unsent_.append(static_cast<const char*>(p.iov_base), p.iov_len);
  // The attempt's scope may be cancelled already; this last write has a scope and time of its own.
  rt::Scope last(shard_.loop());
  const base::Result<> written =
      co_await net::write_all(exchange_.stream(), unsent_, exchange_.write_deadline()).in(last);
  if (written) exchange_.mark_finished();
}

}  // namespace fairlead::router
