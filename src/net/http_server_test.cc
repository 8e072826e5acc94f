#include "net/http_server.h"

#include <gtest/gtest.h>

#include <string>

#include "net/memory.h"
#include "rt/task_group.h"

namespace fairlead::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Answers with method, path and body; /stream in pieces; /slow after 10 s; /silent not at all.
class Echo final : public Handler {
 public:
  std::optional<Refusal> check(const RequestHead& head) override {
    if (head.path == "/refused") return refusal(404, "no such path");
    return std::nullopt;
  }
  rt::Task<void> handle(Exchange& exchange) override {
    const RequestHead& head = exchange.request();
    if (head.path == "/stream") co_return co_await stream(exchange);
    if (head.path == "/broken") {
      static_cast<void>(co_await exchange.start({200, "text/plain", {}}));
      static_cast<void>(co_await exchange.write("half"));
      co_return;
    }
    if (head.path == "/slow") {
      const rt::WaitStatus status = co_await rt::sleep_until(exchange.loop().now() + seconds(10));
      if (status == rt::WaitStatus::kCancelled) {
        reason = (co_await rt::current_scope()).reason();
        co_return;
      }
    }
    std::string body = std::string(head.method) + " " + std::string(head.path) + " ";
    if (head.path == "/peer") append_ip(body, head.peer);
    body += exchange.body();
    static_cast<void>(co_await exchange.respond({200, "text/plain", {}}, body));
  }
  Refusal refusal(int status, std::string_view message) override {
    return {status, "{\"error\":\"" + std::string(message) + "\"}", "application/json", {}};
  }

  void append_fields(std::string& out, const RequestHead& head) const override {
    const std::string_view mark = head.value("x-mark");
    if (!mark.empty()) out.append("X-Mark: ").append(mark).append("\r\n");
  }

  rt::CancelReason reason = rt::CancelReason::kNone;

 private:
  static rt::Task<void> stream(Exchange& exchange) {
    static_cast<void>(co_await exchange.start({200, "text/plain", {}}));
    static_cast<void>(co_await exchange.write("one"));
    static_cast<void>(co_await exchange.write("two"));
    static_cast<void>(co_await exchange.finish());
  }
};

struct ServerTest : testing::Test {
  base::ManualClock clock;
  rt::Loop loop{clock};
  MemoryOptions memory{.latency = std::chrono::microseconds(50)};
  std::unique_ptr<MemoryNetwork> network;
  Echo echo;
  ServerOptions options;
  std::unique_ptr<HttpServer> server;
  std::unique_ptr<rt::TaskGroup> group;
  Address address = *parse_address("127.0.0.1:80");

  void start() {
    network = std::make_unique<MemoryNetwork>(loop, memory);
    server = std::make_unique<HttpServer>(*network, echo, options);
    ASSERT_TRUE(server->listen(address, PortSharing::kExclusive));
    group = std::make_unique<rt::TaskGroup>(loop);
    group->spawn(server->run());
  }
  void TearDown() override {
    if (server == nullptr) return;
    server->stop_accepting();
    server->drain();
    group->cancel(rt::CancelReason::kShutdown);
    loop.run_until_idle();
    EXPECT_EQ(server->connections(), 0u);
    EXPECT_EQ(server->requests_active(), 0u);
    group.reset();
    server.reset();
  }

  struct Script {
    std::vector<std::string> sends;  // each after a pause of `pause`
    base::Nanos pause{0};
    enum class End : uint8_t { kKeepReading, kHalfClose, kClose } end = End::kKeepReading;
    base::Nanos read_for = seconds(200);
  };
  // Sends, then reads until the peer closes or nothing comes for the time; returns what was read.
  static rt::Task<std::string> run_client(Network& net, Address to, Script script) {
    auto stream = co_await net.connect(to, base::kNever);
    EXPECT_TRUE(stream.ok());
    for (const std::string& bytes : script.sends) {
      if (script.pause > base::Nanos(0)) co_await rt::sleep_until(net.loop().now() + script.pause);
      const auto written = co_await write_all(**stream, bytes);
      if (!written) break;
    }
    if (script.end == Script::End::kClose) co_return "";
    if (script.end == Script::End::kHalfClose) (*stream)->shutdown_write();
    std::string got;
    std::array<char, 4096> buffer{};
    const base::TimePoint until = net.loop().now() + script.read_for;
    for (;;) {
      const auto n = co_await read_some(**stream, buffer, until);
      if (!n && n.error().code() == base::ErrorCode::kConnectionReset) got += "<reset>";
      if (!n || *n == 0) co_return got;
      got.append(buffer.data(), *n);
    }
  }
  static rt::Task<void> run_client_into(Network& net, Address to, Script script, std::string& got) {
    got = co_await run_client(net, to, std::move(script));
  }
  std::string client(Script script) {
    return loop.block_on(run_client(*network, address, std::move(script)));
  }
  std::string client(std::string bytes) {
    Script script;
    script.sends.push_back(std::move(bytes));
    script.read_for = seconds(2);
    return client(std::move(script));
  }
};

int count(std::string_view text, std::string_view what) {
  int n = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST_F(ServerTest, AnswersAndKeepsTheConnection) {
  start();
  const std::string got = client("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(got.starts_with("HTTP/1.1 200 OK\r\nDate: ")) << got;
  EXPECT_TRUE(got.ends_with("Content-Length: 7\r\n\r\nGET /a ")) << got;
  EXPECT_EQ(server->connections(), 1u);
}

TEST_F(ServerTest, TellsAHandlerWhoAsks) {
  start();
  EXPECT_TRUE(client("GET /peer HTTP/1.1\r\nHost: x\r\n\r\n").ends_with("GET /peer 127.0.0.1"));
}

TEST_F(ServerTest, AHandlersFieldsAreInEveryAnswer) {
  options.body_bytes_max = base::Bytes(3);
  start();
  const std::string marked = "Host: x\r\nX-Mark: here\r\n";
  for (const std::string& request :
       {"GET /a HTTP/1.1\r\n" + marked + "\r\n", "GET /stream HTTP/1.1\r\n" + marked + "\r\n",
        "GET /refused HTTP/1.1\r\n" + marked + "\r\n",
        "POST /a HTTP/1.1\r\n" + marked + "Content-Length: 4\r\n\r\nabcd"}) {
    EXPECT_EQ(count(client(request), "X-Mark: here\r\n"), 1) << request;
  }
  // Of a head that is refused nothing is known, and nothing is left of the one before.
  const std::string got = client("GET /a HTTP/1.1\r\n" + marked + "\r\nGET /b HTTP/1.1\r\n" +
                                 marked + "Bad Field: x\r\n\r\n");
  EXPECT_EQ(count(got, "HTTP/1.1 400"), 1) << got;
  EXPECT_EQ(count(got, "X-Mark"), 1) << got;
}

TEST_F(ServerTest, AnswersPipelinedRequestsInOrder) {
  start();
  const std::string got = client(
      "POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcPOST /2 HTTP/1.1\r\nHost: x\r\n"
      "Transfer-Encoding: chunked\r\n\r\n2\r\nde\r\n1\r\nf\r\n0\r\n\r\nGET /3 HTTP/1.1\r\nHost: "
      "x\r\n\r\n");
  EXPECT_EQ(count(got, "HTTP/1.1 200 OK"), 3);
  const size_t one = got.find("POST /1 abc");
  const size_t two = got.find("POST /2 def");
  const size_t three = got.find("GET /3 ");
  EXPECT_TRUE(one < two && two < three && three != std::string::npos) << got;
}

TEST_F(ServerTest, ReadsRequestsThatArriveByteByByte) {
  memory.read_bytes_max = 1;
  start();
  const std::string got = client(
      "\r\nPOST /1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;x=y\r\nabc\r\n0\r\nT: u\r\n\r\n");
  EXPECT_TRUE(got.ends_with("POST /1 abc")) << got;
}

TEST_F(ServerTest, StreamsInChunksOrUntilCloseForOldClients) {
  start();
  std::string got = client("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(got.ends_with("Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"))
      << got;
  got = client("GET /stream HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(got.ends_with("Connection: close\r\n\r\nonetwo")) << got;
}

TEST_F(ServerTest, AStreamThatBreaksOffIsResetNotEnded) {
  start();
  const std::string got = client("GET /broken HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(got.ends_with("<reset>")) << got;
}

TEST_F(ServerTest, AsksForABodyThatWaitsToBeAskedFor) {
  start();
  Script script;
  script.sends = {
      "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n", "abc"};
  script.pause = seconds(1);
  script.read_for = seconds(2);
  const std::string got = client(std::move(script));
  EXPECT_TRUE(got.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")) << got;
}

TEST_F(ServerTest, RefusesWithoutReadingTheBody) {
  start();
  const std::string got = client(
      "POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_TRUE(got.starts_with("HTTP/1.1 404 Not Found")) << got;
  EXPECT_EQ(count(got, "100 Continue"), 0);
  EXPECT_EQ(count(got, "Connection: close"), 1);
}

TEST_F(ServerTest, RefusesAHeadOnceAndCloses) {
  start();
  const std::string got = client("GET / HTTP/1.1\nHost: x\n\nGET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(got.starts_with("HTTP/1.1 400 Bad Request")) << got;
  EXPECT_EQ(count(got, "HTTP/1.1 "), 1);
  EXPECT_EQ(count(got, "bare LF"), 1);
}

TEST_F(ServerTest, TakesABodyOfExactlyTheLimit) {
  options.body_bytes_max = base::Bytes(1000);
  start();
  const std::string head = "POST /a HTTP/1.1\r\nHost: x\r\n";
  EXPECT_TRUE(client(head + "Content-Length: 1000\r\n\r\n" + std::string(1000, 'x'))
                  .starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(client(head + "Content-Length: 1001\r\n\r\n" + std::string(1001, 'x'))
                  .starts_with("HTTP/1.1 413"));
  EXPECT_TRUE(client(head + "Transfer-Encoding: chunked\r\n\r\n3e8\r\n" + std::string(1000, 'x') +
                     "\r\n0\r\n\r\n")
                  .starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(client(head + "Transfer-Encoding: chunked\r\n\r\n3e9\r\n" + std::string(1001, 'x') +
                     "\r\n0\r\n\r\n")
                  .starts_with("HTTP/1.1 413"));
}

TEST_F(ServerTest, BoundsTheBodiesOfAllConnectionsTogether) {
  ByteBudget budget(base::Bytes(100'000), 1);
  options.held_bodies = &budget;
  start();
  const std::string head = "POST /a HTTP/1.1\r\nHost: x\r\n";
  EXPECT_TRUE(client(head + "Content-Length: 100001\r\n\r\n").starts_with("HTTP/1.1 503"));
  EXPECT_TRUE(client(head + "Content-Length: 100000\r\n\r\n" + std::string(100'000, 'x'))
                  .starts_with("HTTP/1.1 200"));
  EXPECT_EQ(budget.used(), 0u);
}

TEST_F(ServerTest, ABodyTakesRoomAsItComesAndNotAsItIsAnnounced) {
  ByteBudget budget(base::Bytes(1 << 20), 1);
  options.held_bodies = &budget;
  options.body_bytes_max = base::Bytes(1 << 20);
  start();
  const std::string head = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: ";
  Script big;
  big.sends = {head + "1000000\r\n\r\nabc"};
  std::string answered;
  rt::TaskGroup clients(loop);
  clients.spawn(run_client_into(*network, address, big, answered));
  loop.run_until_idle(loop.now() + seconds(1));
  EXPECT_GT(budget.used(), 0u);
  EXPECT_LE(budget.used(), 100'000u);
  EXPECT_TRUE(
      client(head + "100000\r\n\r\n" + std::string(100'000, 'x')).starts_with("HTTP/1.1 200"))
      << "there is room for others";
  loop.run_until_idle(loop.now() + seconds(300));
  EXPECT_TRUE(answered.starts_with("HTTP/1.1 408")) << answered;
  EXPECT_EQ(clients.running(), 0u);
  EXPECT_EQ(budget.used(), 0u);
}

TEST(BodyDeadline, IsTheNextPieceOrTheLeastRate) {
  const auto at = [](int64_t second) { return base::TimePoint(seconds(second)); };
  ServerOptions options;
  options.body_idle_timeout = seconds(30);
  EXPECT_EQ(body_deadline(options, at(0), at(1000), 1), at(1030)) << "no least rate";
  options.body_rate_min = base::Bytes(100);
  EXPECT_EQ(body_deadline(options, at(0), at(0), 0), at(30));
  EXPECT_EQ(body_deadline(options, at(0), at(29), 1), at(30) + milliseconds(10));
  EXPECT_EQ(body_deadline(options, at(0), at(29), 2900), at(59));
  EXPECT_EQ(body_deadline(options, at(0), at(29), 1'000'000), at(59)) << "and no longer pause";
  EXPECT_EQ(body_deadline(options, at(0), at(500), 1ull << 40), at(530));
}

TEST_F(ServerTest, RefusesABodyThatTricklesIn) {
  options.body_rate_min = base::Bytes(10);
  start();
  // A byte every 5 s keeps the pause between two short.
  Script trickle;
  trickle.pause = seconds(5);
  trickle.sends = {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"};
  for (int i = 0; i < 30; ++i) trickle.sends.push_back("x");
  const base::TimePoint before = loop.now();
  EXPECT_TRUE(client(trickle).starts_with("HTTP/1.1 408"));
  EXPECT_LE(loop.now() - before, seconds(160));
  Script steady;
  steady.pause = seconds(5);
  steady.sends = {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"};
  for (int i = 0; i < 20; ++i) steady.sends.push_back(std::string(50, 'x'));
  EXPECT_TRUE(client(steady).starts_with("HTTP/1.1 200")) << "10 bytes a second are enough";
}

TEST_F(ServerTest, TimesOutSlowHeadsBodiesAndIdleConnections) {
  start();
  Script slow_head;
  slow_head.sends = {"GET / HTTP/1.1\r\n"};
  EXPECT_TRUE(client(slow_head).starts_with("HTTP/1.1 408"));
  EXPECT_LE(loop.now(), base::TimePoint(seconds(16)));
  Script slow_body;
  slow_body.sends = {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab"};
  EXPECT_TRUE(client(slow_body).starts_with("HTTP/1.1 408"));
  Script idle;
  idle.sends = {"GET / HTTP/1.1\r\nHost: x\r\n\r\n"};
  const base::TimePoint before = loop.now();
  EXPECT_TRUE(client(idle).starts_with("HTTP/1.1 200"));
  EXPECT_NEAR(base::to_seconds(loop.now() - before), 75, 1);
}

TEST_F(ServerTest, CancelsTheHandlerWhenTheClientLeaves) {
  start();
  Script leave;
  leave.sends = {"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"};
  leave.end = Script::End::kClose;
  client(leave);
  loop.run_until_idle(loop.now() + milliseconds(10));
  EXPECT_EQ(echo.reason, rt::CancelReason::kClientGone);
  EXPECT_EQ(server->requests_active(), 0u);
}

TEST_F(ServerTest, DrainingClosesIdleConnectionsAndLetsRequestsFinish) {
  start();
  rt::TaskGroup clients(loop);
  std::string slow;
  std::string idle;
  struct Run {
    static rt::Task<void> into(rt::Task<std::string> task, std::string& result) {
      result = co_await std::move(task);
    }
  };
  Script script;
  script.sends = {"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"};
  clients.spawn(Run::into(run_client(*network, address, script), slow));
  script.sends = {"GET /fast HTTP/1.1\r\nHost: x\r\n\r\n"};
  clients.spawn(Run::into(run_client(*network, address, script), idle));
  loop.run_until_idle(loop.now() + seconds(1));
  server->stop_accepting();
  server->drain();
  loop.run_until_idle(loop.now() + seconds(1));
  EXPECT_EQ(server->connections(), 1u);
  EXPECT_EQ(count(idle, "HTTP/1.1 200"), 1);
  EXPECT_TRUE(loop.block_on(server->drained(loop.now() + seconds(30))));
  loop.run_until_idle();
  EXPECT_EQ(count(slow, "Connection: close"), 1) << slow;
}

TEST_F(ServerTest, DrainingCutsWhatOutlivesItsDeadline) {
  start();
  rt::TaskGroup clients(loop);
  std::string slow;
  struct Run {
    static rt::Task<void> into(rt::Task<std::string> task, std::string& result) {
      result = co_await std::move(task);
    }
  };
  Script script;
  script.sends = {"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"};
  clients.spawn(Run::into(run_client(*network, address, script), slow));
  loop.run_until_idle(loop.now() + seconds(1));
  server->drain();
  EXPECT_FALSE(loop.block_on(server->drained(loop.now() + seconds(2))));
  loop.run_until_idle();
  EXPECT_EQ(server->connections(), 0u);
}

}  // namespace
}  // namespace fairlead::net
