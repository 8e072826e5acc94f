#include "net/http_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fairlead::net {
namespace {

constexpr size_t kReadBytes = 16 * 1024;
constexpr size_t kHeadReadBytes = 4 * 1024;
constexpr int kInterimAnswersMax = 16;
constexpr size_t kRestBytes = 4 * 1024;

base::Error protocol_error(std::string_view message) {
  return base::Error(base::ErrorCode::kProtocol, std::string(message));
}

}  // namespace

rt::Task<base::Result<>> ClientConnection::send(std::span<iovec> pieces, base::TimePoint deadline) {
  return write_all(*stream_, pieces, deadline);
}

rt::Task<base::Result<>> ClientConnection::read_any_head(AnswerTo request,
                                                         base::TimePoint deadline) {
  in_.consume(pending_);
  pending_ = 0;
  HeadScanner scanner;
  const HeadLimits limits;
  for (;;) {
    const HeadScanner::Status status = scanner.scan(in_.data(), limits);
    if (status == HeadScanner::Status::kComplete) break;
    if (status == HeadScanner::Status::kBareLf)
      co_return protocol_error("bare LF in an answer's head");
    if (status == HeadScanner::Status::kTooLarge)
      co_return protocol_error("an answer's head is too large");
    const base::Result<size_t> n = co_await read_some(*stream_, in_.room(kHeadReadBytes), deadline);
    if (!n) co_return n.error();
    if (*n == 0) {
      if (!in_.empty()) co_return reset_error("connection closed within an answer's head");
      co_return base::Error(base::ErrorCode::kClosed, "connection closed before an answer");
    }
    in_.commit(*n);
  }
  head_bytes_.assign(in_.data().substr(0, scanner.head_bytes()));
  in_.consume(scanner.head_bytes());
  if (const HeadError error = parse_response_head(head_bytes_, limits, request, response_)) {
    co_return protocol_error(error.message);
  }
  decoder_ = BodyDecoder(response_.body, response_.content_length);
  co_return base::Result<>();
}

rt::Task<base::Result<>> ClientConnection::read_head(AnswerTo request, base::TimePoint deadline) {
  for (int i = 0; i <= kInterimAnswersMax; ++i) {
    base::Result<> read = co_await read_any_head(request, deadline);
    if (!read) co_return read;
    if (response_.status == 101) co_return protocol_error("an upgrade nobody asked for");
    if (response_.status >= 200) co_return read;
  }
  co_return protocol_error("too many interim answers");
}

rt::Task<base::Result<bool>> ClientConnection::await_continue(base::TimePoint deadline) {
  base::Result<> read = co_await read_any_head(AnswerTo::kOther, deadline);
  if (!read) {
    if (read.error().code() == base::ErrorCode::kDeadlineExceeded && in_.empty()) co_return true;
    co_return read.error();
  }
  if (response_.status >= 200) co_return false;
  co_return true;
}

rt::Task<base::Result<std::string_view>> ClientConnection::read_body(base::TimePoint deadline) {
  in_.consume(pending_);
  pending_ = 0;
  for (;;) {
    const BodyDecoder::Step step = decoder_.step(in_.data());
    if (step.status == BodyDecoder::Status::kError)
      co_return protocol_error("invalid chunked body");
    if (!step.data.empty()) {
      pending_ = step.consumed;
      co_return step.data;
    }
    in_.consume(step.consumed);
    if (step.status == BodyDecoder::Status::kEnd) co_return std::string_view();
    if (step.status == BodyDecoder::Status::kMore) continue;
    const base::Result<size_t> n = co_await read_some(*stream_, in_.room(kReadBytes), deadline);
    if (!n) co_return n.error();
    if (*n == 0) {
      if (!decoder_.may_end_by_close()) co_return reset_error("connection closed within a body");
      decoder_ = BodyDecoder();
      co_return std::string_view();
    }
    in_.commit(*n);
  }
}

void ClientConnection::rest() {
  in_.consume(pending_);
  pending_ = 0;
  if (in_.empty() && in_.capacity() > kRestBytes) in_.release();
}

bool ConnectionPool::fit(const Idle& idle) const {
  return network_.loop().now() - idle.since < options_.idle_timeout && idle.connection->reusable();
}

std::unique_ptr<ClientConnection> ConnectionPool::take_idle() {
  while (!idle_.empty()) {
    Idle last = std::move(idle_.back());
    idle_.pop_back();
    if (fit(last)) return std::move(last.connection);
  }
  return nullptr;
}

rt::Task<base::Result<std::unique_ptr<ClientConnection>>> ConnectionPool::connect(
    base::TimePoint deadline) {
  base::Result<std::unique_ptr<ByteStream>> stream = co_await network_.connect(address_, deadline);
  if (!stream) co_return stream.error();
  co_return std::make_unique<ClientConnection>(std::move(*stream));
}

void ConnectionPool::give_back(std::unique_ptr<ClientConnection> connection) {
  if (!connection->reusable() || idle_.size() >= options_.idle_max) return;
  connection->rest();
  idle_.push_back({std::move(connection), network_.loop().now()});
}

void ConnectionPool::sweep() {
  std::erase_if(idle_, [this](const Idle& idle) { return !fit(idle); });
}

rt::Task<base::Result<FetchAnswer>> fetch(ClientConnection& connection, FetchRequest request,
                                          base::TimePoint deadline) {
  std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n{}", request.method, request.target,
                                 request.host, request.extra_fields);
  if (!request.body.empty() || request.method == "POST") {
    fmt::format_to(std::back_inserter(head), "Content-Length: {}\r\n", request.body.size());
  }
  head += "\r\n";
  std::array<iovec, 2> pieces = {{{head.data(), head.size()}, iovec_of(request.body)}};
  base::Result<> done =
      co_await connection.send(std::span(pieces).first(request.body.empty() ? 1 : 2), deadline);
  if (!done) co_return done.error();
  const AnswerTo kind = request.method == "HEAD" ? AnswerTo::kHead : AnswerTo::kOther;
  done = co_await connection.read_head(kind, deadline);
  if (!done) co_return done.error();
  FetchAnswer answer;
  answer.status = connection.response().status;
  answer.content_type = connection.response().value("content-type");
  for (;;) {
    base::Result<std::string_view> piece = co_await connection.read_body(deadline);
    if (!piece) co_return piece.error();
    if (piece->empty()) co_return answer;
    if (answer.body.size() + piece->size() > request.answer_bytes_max) {
      co_return base::Error(base::ErrorCode::kResourceExhausted, "answer too large");
    }
    answer.body += *piece;
  }
}

}  // namespace fairlead::net
