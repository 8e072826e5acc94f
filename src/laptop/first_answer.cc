#include "laptop/first_answer.h"

#include <fmt/format.h>

#include <optional>

#include "codec/json.h"
#include "codec/sse.h"
#include "net/http_client.h"
#include "rt/waiter.h"

namespace fairlead::laptop {
namespace {

using namespace std::chrono_literals;
using base::Error;
using base::ErrorCode;

constexpr base::Nanos kPollGap = 10ms;
constexpr size_t kErrorBodyMax = 2000;

// What the events of a stream say, one after another.
struct StreamReader {
  std::function<void(std::string_view)> on_text;
  codec::SseSplitter splitter{};
  bool done = false;
  std::optional<std::string> error{};
  size_t pieces = 0;

  void read(std::string_view event) {
    std::string joined;
    const std::string_view data = codec::sse_data(event, joined);
    if (codec::is_done(data)) {
      done = true;
      return;
    }
    const auto json = codec::parse_json(data);
    if (!json || !json->is_object() || json->find("error") != nullptr) {
      error = std::string(data);
      return;
    }
    const codec::Json* choices = json->find("choices");
    if (choices == nullptr || !choices->is_array() || choices->items().empty()) return;
    const codec::Json& choice = choices->items().front();
    const codec::Json* delta = choice.is_object() ? choice.find("delta") : nullptr;
    if (delta == nullptr || !delta->is_object()) return;
    const codec::Json* content = delta->find("content");
    if (content == nullptr || !content->is_string() || content->as_string().empty()) return;
    ++pieces;
    on_text(content->as_string());
  }
};

Error unusable(std::string message) { return Error(ErrorCode::kUnavailable, std::move(message)); }

rt::Task<base::Result<>> send_question(net::ClientConnection& connection,
                                       const net::Address& address, const std::string& body,
                                       base::TimePoint deadline) {
  std::string head = fmt::format(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n"
      "x-fairlead-explain: 1\r\nContent-Length: {}\r\n\r\n",
      net::to_string(address), body.size());
  iovec pieces[] = {{head.data(), head.size()}, net::iovec_of(body)};
  auto sent = co_await connection.send(pieces, deadline);
  if (!sent) co_return sent;
  co_return co_await connection.read_head(net::AnswerTo::kOther, deadline);
}

rt::Task<std::string> read_error(net::ClientConnection& connection, base::TimePoint deadline) {
  std::string body;
  while (body.size() < kErrorBodyMax) {
    const auto piece = co_await connection.read_body(deadline);
    if (!piece || piece->empty()) break;
    body += *piece;
  }
  co_return body;
}

}  // namespace

rt::Task<base::Result<>> await_ok(net::Network& network, net::Address address, std::string path,
                                  std::string wanted, base::TimePoint deadline) {
  const std::string host = net::to_string(address);
  std::string last;
  while (network.loop().now() < deadline) {
    auto stream = co_await network.connect(address, deadline);
    if (stream) {
      net::ClientConnection connection(std::move(*stream));
      const auto answer = co_await net::fetch(connection, {.target = path, .host = host}, deadline);
      const bool ok = answer && answer->status == 200;
      if (ok && answer->body.find(wanted) != std::string::npos) co_return base::Result<>();
      last = answer ? fmt::format("status {} without {}", answer->status, wanted)
                    : answer.error().describe();
    } else {
      last = stream.error().describe();
    }
    const auto slept = co_await rt::sleep_until(base::after(network.loop().now(), kPollGap));
    if (slept == rt::WaitStatus::kCancelled) {
      co_return Error(ErrorCode::kCancelled, fmt::format("interrupted while waiting for {}", host));
    }
  }
  co_return Error(ErrorCode::kDeadlineExceeded,
                  fmt::format("http://{}{} is not ready: {}", host, path, last));
}

rt::Task<base::Result<FirstAnswer>> first_answer(net::Network& network, net::Address router,
                                                 std::string body,
                                                 std::function<void(std::string_view)> on_text,
                                                 base::TimePoint deadline) {
  const base::TimePoint begun = network.loop().now();
  auto stream = co_await network.connect(router, deadline);
  if (!stream) co_return stream.error();
  net::ClientConnection connection(std::move(*stream));
  const auto head = co_await send_question(connection, router, body, deadline);
  if (!head) co_return head.error().wrap("the router did not answer");
  if (connection.response().status != 200) {
    const int status = connection.response().status;
    const std::string said = co_await read_error(connection, deadline);
    co_return unusable(fmt::format("the router answered {}: {}", status, said));
  }

  FirstAnswer answer;
  answer.explanation = std::string(connection.response().value("x-fairlead-explain"));
  StreamReader reader{.on_text = [&](std::string_view text) {
    if (answer.first == 0ns) answer.first = network.loop().now() - begun;
    on_text(text);
  }};
  while (true) {
    const auto piece = co_await connection.read_body(deadline);
    if (!piece) co_return piece.error().wrap("the answer broke off");
    if (piece->empty()) break;
    if (!reader.splitter.feed(*piece, [&](std::string_view event) { reader.read(event); })) {
      co_return unusable("the answer has an event without end");
    }
    if (reader.error) co_return unusable(fmt::format("the answer ended with {}", *reader.error));
  }
  if (!reader.done) co_return unusable("the answer ended without [DONE]");
  answer.pieces = reader.pieces;
  answer.whole = network.loop().now() - begun;
  co_return answer;
}

}  // namespace fairlead::laptop
