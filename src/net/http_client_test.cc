#include "net/http_client.h"

#include <gtest/gtest.h>

#include "net/memory.h"
#include "rt/task_group.h"

namespace fairlead::net {
namespace {

using std::chrono::seconds;

struct ClientTest : testing::Test {
  base::ManualClock clock;
  rt::Loop loop{clock};
  MemoryNetwork network{loop, {.latency = std::chrono::microseconds(50)}};
  Address address = *parse_address("127.0.0.1:80");

  // Accepts one connection, reads a first piece, sends the bytes, closes when told to.
  enum class Then : uint8_t { kClose, kStay, kAbort };
  static rt::Task<void> serve(Listener& listener, std::string answer, Then then) {
    auto stream = co_await listener.accept();
    if (!stream) co_return;
    std::array<char, 4096> buffer{};
    const auto n = co_await read_some(**stream, buffer);
    if (!n) co_return;
    static_cast<void>(co_await write_all(**stream, answer));
    if (then == Then::kAbort) (*stream)->abort();
    if (then == Then::kStay) co_await rt::sleep_until(base::kNever);
  }
  static rt::Task<base::Result<FetchAnswer>> fetch_once(Network& net, Address to, bool& reusable) {
    auto stream = co_await net.connect(to, base::kNever);
    if (!stream) co_return stream.error();
    ClientConnection connection(std::move(*stream));
    auto answer =
        co_await fetch(connection, {.target = "/x", .host = "h"}, net.loop().now() + seconds(5));
    reusable = connection.reusable();
    co_return answer;
  }
  base::Result<FetchAnswer> exchange(std::string answer, Then then = Then::kStay) {
    auto listener = network.listen(address, PortSharing::kExclusive);
    rt::TaskGroup group(loop);
    group.spawn(serve(**listener, std::move(answer), then));
    auto result = loop.block_on(fetch_once(network, address, reusable));
    group.cancel(rt::CancelReason::kShutdown);
    loop.run_until_idle();
    return result;
  }
  bool reusable = false;
};

TEST_F(ClientTest, ReadsCountedAndChunkedBodiesAndKeepsTheConnection) {
  auto got = exchange("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Type: a/b\r\n\r\nabc");
  ASSERT_TRUE(got) << got.error().describe();
  EXPECT_EQ(got->body, "abc");
  EXPECT_EQ(got->content_type, "a/b");
  EXPECT_TRUE(reusable);
  got = exchange("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->body, "abc");
  EXPECT_TRUE(reusable);
}

TEST_F(ClientTest, ReadsPastInterimAnswers) {
  const auto got = exchange(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
      "HTTP/1.1 204 No Content\r\n\r\n");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 204);
  EXPECT_TRUE(reusable);
}

TEST_F(ClientTest, ReadsPastSixteenInterimAnswersAndNoMore) {
  std::string interim;
  for (int i = 0; i < 16; ++i) interim += "HTTP/1.1 102 Processing\r\n\r\n";
  const std::string last = "HTTP/1.1 204 No Content\r\n\r\n";
  EXPECT_TRUE(exchange(interim + last));
  const auto got = exchange(interim + "HTTP/1.1 100 Continue\r\n\r\n" + last);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), base::ErrorCode::kProtocol);
}

TEST_F(ClientTest, DoesNotReuseAConnectionWithBytesLeftOver) {
  const auto got = exchange("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc");
  ASSERT_TRUE(got);
  EXPECT_FALSE(reusable);
}

TEST_F(ClientTest, ReadsUntilCloseOnlyWhereThatIsTheFraming) {
  auto got = exchange("HTTP/1.1 200 OK\r\n\r\nabc", Then::kClose);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->body, "abc");
  EXPECT_FALSE(reusable);
  got = exchange("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", Then::kClose);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), base::ErrorCode::kConnectionReset);
}

TEST_F(ClientTest, TellsHowAnAnswerFailed) {
  EXPECT_EQ(exchange("", Then::kClose).error().code(), base::ErrorCode::kClosed);
  EXPECT_EQ(exchange("HTTP/1.1 200", Then::kClose).error().code(),
            base::ErrorCode::kConnectionReset);
  EXPECT_EQ(exchange("", Then::kAbort).error().code(), base::ErrorCode::kConnectionReset);
  EXPECT_EQ(exchange("", Then::kStay).error().code(), base::ErrorCode::kDeadlineExceeded);
  EXPECT_EQ(exchange("nonsense\r\n\r\n", Then::kStay).error().code(), base::ErrorCode::kProtocol);
}

rt::Task<base::Result<std::string>> pipeline(Network& net, Address to) {
  auto stream = co_await net.connect(to, base::kNever);
  if (!stream) co_return stream.error();
  ClientConnection connection(std::move(*stream));
  std::string bytes = "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n";
  iovec piece = {bytes.data(), bytes.size()};
  auto sent = co_await connection.send({&piece, 1}, base::kNever);
  if (!sent) co_return sent.error();
  std::string all;
  for (int i = 0; i < 2; ++i) {
    auto head = co_await connection.read_head(AnswerTo::kOther, base::kNever);
    if (!head) co_return head.error();
    for (;;) {
      auto body = co_await connection.read_body(base::kNever);
      if (!body) co_return body.error();
      if (body->empty()) break;
      all += *body;
    }
    all += "|";
  }
  co_return all;
}

TEST_F(ClientTest, ReadsPipelinedAnswersInOrder) {
  auto listener = network.listen(address, PortSharing::kExclusive);
  rt::TaskGroup group(loop);
  group.spawn(serve(**listener,
                    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n1\r\nb\r\n0\r\n\r\n",
                    Then::kStay));
  const auto got = loop.block_on(pipeline(network, address));
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, "a|b|");
  group.cancel(rt::CancelReason::kShutdown);
  loop.run_until_idle();
}

rt::Task<base::Result<bool>> ask_first(Network& net, Address to, base::Nanos wait) {
  auto stream = co_await net.connect(to, base::kNever);
  if (!stream) co_return stream.error();
  ClientConnection connection(std::move(*stream));
  std::string bytes =
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n";
  iovec piece = {bytes.data(), bytes.size()};
  static_cast<void>(co_await connection.send({&piece, 1}, base::kNever));
  co_return co_await connection.await_continue(net.loop().now() + wait);
}

TEST_F(ClientTest, SendsABodyWhenAskedOrNotAnsweredAndNotWhenRefused) {
  struct Case {
    const char* answer;
    bool expected;
  };
  for (const Case& c :
       {Case{"HTTP/1.1 100 Continue\r\n\r\n", true}, Case{"", true},
        Case{"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n", false}}) {
    auto listener = network.listen(address, PortSharing::kExclusive);
    rt::TaskGroup group(loop);
    group.spawn(serve(**listener, c.answer, Then::kStay));
    const auto got = loop.block_on(ask_first(network, address, seconds(1)));
    ASSERT_TRUE(got);
    EXPECT_EQ(*got, c.expected) << c.answer;
    group.cancel(rt::CancelReason::kShutdown);
    loop.run_until_idle();
  }
}

rt::Task<bool> pool_round(ConnectionPool& pool, rt::Loop& loop, base::Nanos idle_for) {
  auto connection = pool.take_idle();
  const bool reused = connection != nullptr;
  if (!reused) {
    auto connected = co_await pool.connect(base::kNever);
    EXPECT_TRUE(connected.ok());
    connection = std::move(*connected);
  }
  const auto answer =
      co_await fetch(*connection, {.target = "/", .host = "h"}, loop.now() + seconds(1));
  EXPECT_TRUE(answer.ok());
  pool.give_back(std::move(connection));
  co_await rt::sleep_until(loop.now() + idle_for);
  co_return reused;
}

rt::Task<void> serve_forever(Listener& listener, int answers) {
  for (;;) {
    auto stream = co_await listener.accept();
    if (!stream) co_return;
    std::array<char, 4096> buffer{};
    for (int i = 0; i < answers; ++i) {
      const auto n = co_await read_some(**stream, buffer);
      if (!n || *n == 0) break;
      static_cast<void>(co_await write_all(
          **stream, std::string_view("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")));
    }
  }
}

TEST_F(ClientTest, APoolReusesFreshConnectionsOnly) {
  auto listener = network.listen(address, PortSharing::kExclusive);
  {
    ConnectionPool pool(network, address, {});
    rt::TaskGroup group(loop);
    group.spawn(serve_forever(**listener, 3));
    EXPECT_FALSE(loop.block_on(pool_round(pool, loop, seconds(1))));
    EXPECT_TRUE(loop.block_on(pool_round(pool, loop, seconds(1))));
    EXPECT_TRUE(loop.block_on(pool_round(pool, loop, seconds(1))));  // the server closes after this
    EXPECT_FALSE(loop.block_on(pool_round(pool, loop, seconds(10))));
    EXPECT_EQ(pool.idle(), 1u);
    pool.sweep();
    EXPECT_EQ(pool.idle(), 0u);
    group.cancel(rt::CancelReason::kShutdown);
    loop.run_until_idle();
  }
}

}  // namespace
}  // namespace fairlead::net
