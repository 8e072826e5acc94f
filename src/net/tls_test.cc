#include "net/tls.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "base/random.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/memory.h"
#include "net/tls_testing.h"
#include "rt/task_group.h"

namespace fairlead::net {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ErrorCode = base::ErrorCode;
using Stream = std::unique_ptr<ByteStream>;

// Between a client and the server: what it does to the bytes of one connection.
struct Wire {
  enum class Cut : uint8_t { kClose, kReset };
  size_t up_bytes_max = SIZE_MAX;  // from the client; past them both sides are cut off
  size_t down_bytes_max = SIZE_MAX;
  Cut cut = Cut::kClose;
  size_t flip_up = SIZE_MAX;  // which byte is changed
  size_t flip_down = SIZE_MAX;
  size_t up_bytes = 0;
  size_t down_bytes = 0;
};

struct TlsTest : testing::Test {
  base::ManualClock clock;
  rt::Loop loop{clock};
  MemoryOptions memory{.latency = microseconds(50)};
  std::optional<MemoryNetwork> network;
  const TestAuthority& authority = shared_authority();
  Certificate certificate = authority.issue("DNS:engine.example,DNS:*.wild.example,IP:10.0.0.1");
  std::unique_ptr<TlsServer> server = *TlsServer::make(certificate);
  std::unique_ptr<TlsClient> client = *TlsClient::make(authority.pem());
  TlsListenOptions options;
  Address address = *parse_address("10.0.0.1:443");
  Address wire_address = *parse_address("10.0.0.2:443");
  std::unique_ptr<Listener> listener;
  std::unique_ptr<Listener> wire_listener;
  Wire wire;
  std::optional<rt::TaskGroup> group;
  std::string served;  // what the echo server has read
  std::vector<std::string> ends;

  static const TestAuthority& shared_authority() {
    static const TestAuthority authority;
    return authority;
  }

  void start() {
    network.emplace(loop, memory);
    listener =
        listen_tls(*network->listen(address, PortSharing::kExclusive), *server, loop, options);
    wire_listener = *network->listen(wire_address, PortSharing::kExclusive);
    group.emplace(loop);
    group->spawn(serve());
    group->spawn(run_wire());
  }
  void TearDown() override {
    if (!group) return;
    group->cancel(rt::CancelReason::kShutdown);
    loop.run_until_idle();
    EXPECT_EQ(group->running(), 0u);
    group.reset();
    listener.reset();
    wire_listener.reset();
    EXPECT_EQ(network->open_streams(), 0u);
  }

  // Echoes whatever comes.
  rt::Task<void> serve() {
    for (;;) {
      auto stream = co_await listener->accept();
      if (!stream) co_return;
      group->spawn(echo(std::move(*stream)));
    }
  }
  rt::Task<void> echo(Stream stream) {
    std::array<char, 5000> buffer{};
    for (;;) {
      const auto n = co_await read_some(*stream, buffer);
      if (!n || *n == 0) {
        ends.push_back(n ? "end" : std::string(to_string(n.error().code())));
        co_return;
      }
      served.append(buffer.data(), *n);
      const auto written = co_await write_all(*stream, std::string_view(buffer.data(), *n));
      if (!written) {
        ends.emplace_back("write failed");
        co_return;
      }
    }
  }

  rt::Task<void> run_wire() {
    for (;;) {
      auto up = co_await wire_listener->accept();
      if (!up) co_return;
      auto down = co_await network->connect(address, base::kNever);
      if (!down) co_return;
      group->spawn(carry_both(std::move(*up), std::move(*down)));
    }
  }
  rt::Task<void> carry_both(Stream near, Stream far) {
    rt::Scope& scope = co_await rt::current_scope();
    rt::TaskGroup both(scope);
    both.spawn(carry(*near, *far, wire.up_bytes, wire.up_bytes_max, wire.flip_up, both));
    both.spawn(carry(*far, *near, wire.down_bytes, wire.down_bytes_max, wire.flip_down, both));
    static_cast<void>(co_await both.join());
    if (wire.cut == Wire::Cut::kReset) {
      near->abort();
      far->abort();
    }
  }
  static rt::Task<void> carry(ByteStream& from, ByteStream& to, size_t& count, size_t limit,
                              size_t flip, rt::TaskGroup& both) {
    std::array<char, 256> buffer{};
    for (;;) {
      const auto n =
          co_await read_some(from, std::span(buffer).first(std::min<size_t>(256, limit - count)));
      if (!n || *n == 0) break;
      if (flip >= count && flip - count < *n) buffer[flip - count] ^= 0x20;
      count += *n;
      const auto written = co_await write_all(to, std::string_view(buffer.data(), *n));
      if (!written || count == limit) break;
    }
    both.cancel(rt::CancelReason::kSibling);
  }

  rt::Task<base::Result<Stream>> dial(Address to, std::string host,
                                      base::Nanos timeout = seconds(5)) {
    co_return co_await connect_tls(*network, *client, to, std::move(host),
                                   base::after(loop.now(), timeout));
  }
  base::Result<Stream> connect(Address to, std::string host) {
    return loop.block_on(dial(to, std::move(host)));
  }
  base::Result<Stream> connect() { return connect(address, "engine.example"); }

  static rt::Task<void> send_all(ByteStream& stream, const std::string& text, bool& sent) {
    const base::Result<> written = co_await write_all(stream, text);
    sent = written.ok();
  }
  // Sends and reads at the same time; returns what came back, with why it ended early.
  rt::Task<std::string> exchange(ByteStream& stream, const std::string& text) {
    rt::Scope& scope = co_await rt::current_scope();
    rt::TaskGroup sending(scope);
    bool sent = false;
    sending.spawn(send_all(stream, text, sent));
    std::string got;
    std::array<char, 3000> buffer{};
    while (got.size() < text.size()) {
      const auto n = co_await read_some(stream, buffer, base::after(loop.now(), seconds(100)));
      if (!n || *n == 0) {
        got += n ? "<end>" : fmt::format("<{}>", to_string(n.error().code()));
        break;
      }
      got.append(buffer.data(), *n);
    }
    sending.cancel(rt::CancelReason::kSibling);
    static_cast<void>(co_await sending.join());
    co_return got;
  }
  std::string echoed(ByteStream& stream, const std::string& text) {
    return loop.block_on(exchange(stream, text));
  }
  // What a client that sends these bytes as they are gets, until it is closed.
  rt::Task<std::string> raw(std::string bytes) {
    auto stream = co_await network->connect(address, base::kNever);
    static_cast<void>(co_await write_all(**stream, bytes));
    std::string got;
    std::array<char, 3000> buffer{};
    for (;;) {
      const auto n = co_await read_some(**stream, buffer, base::after(loop.now(), seconds(100)));
      if (!n || *n == 0)
        co_return got + (n ? "<end>" : fmt::format("<{}>", to_string(n.error().code())));
      got.append(buffer.data(), *n);
    }
  }
};

std::string text_of(size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += fmt::format("{:07}\n", text.size());
  text.resize(bytes);
  return text;
}

struct Shape {
  const char* name;
  MemoryOptions memory;
  size_t bytes;
};

class TlsShapes : public TlsTest, public testing::WithParamInterface<Shape> {};

TEST_P(TlsShapes, CarriesBytesBothWaysWhateverTheStreamBelowDoes) {
  memory = GetParam().memory;
  start();
  auto stream = connect();
  ASSERT_TRUE(stream) << stream.error().describe();
  const std::string text = text_of(GetParam().bytes);
  EXPECT_EQ(echoed(**stream, text), text);
  EXPECT_EQ(served, text);
  EXPECT_FALSE((*stream)->readable());
  EXPECT_FALSE((*stream)->hung_up());
  stream->reset();
  loop.run_until_idle(loop.now() + seconds(1));
  EXPECT_EQ(ends, std::vector<std::string>{"end"});
  EXPECT_EQ(server->handshakes(), 1u);
}

INSTANTIATE_TEST_SUITE_P(
    All, TlsShapes,
    testing::Values(Shape{"AtOnce", {}, 300'000},
                    Shape{"Slow", {.latency = milliseconds(3)}, 300'000},
                    Shape{"ByteByByte", {.latency = microseconds(5), .read_bytes_max = 1}, 40'000},
                    Shape{"NarrowWindow", {.latency = microseconds(5), .window_bytes = 97}, 60'000},
                    Shape{"OneByteWindow", {.window_bytes = 1, .read_bytes_max = 1}, 3'000}),
    [](const auto& info) { return info.param.name; });

TEST_F(TlsTest, ATruncatedStreamReadsAsResetOnBothSides) {
  start();
  for (const Wire::Cut cut : {Wire::Cut::kClose, Wire::Cut::kReset}) {
    wire = {};
    ends.clear();
    {  // how many bytes a handshake and one message take
      auto stream = connect(wire_address, "engine.example");
      ASSERT_TRUE(stream);
      EXPECT_EQ(echoed(**stream, "0123456789"), "0123456789");
      stream->reset();
      loop.run_until_idle(loop.now() + seconds(1));
    }
    const size_t down = wire.down_bytes;
    wire = {};
    wire.cut = cut;
    wire.down_bytes_max = down + 100;  // within the records of a longer message
    ends.clear();
    auto stream = connect(wire_address, "engine.example");
    ASSERT_TRUE(stream);
    const std::string got = echoed(**stream, text_of(10'000));
    EXPECT_TRUE(got.ends_with("<connection_reset>")) << got;
    EXPECT_TRUE((*stream)->hung_up());
    std::array<char, 10> buffer{};
    EXPECT_EQ((*stream)->try_read(buffer).kind, IoResult::Kind::kReset);
    EXPECT_EQ((*stream)->try_write("x").kind, IoResult::Kind::kReset);
    stream->reset();
    loop.run_until_idle(loop.now() + seconds(1));
    ASSERT_EQ(ends.size(), 1u);
    EXPECT_NE(ends[0], "end");
  }
}

TEST_F(TlsTest, AnAbortedStreamReadsAsReset) {
  start();
  auto stream = connect();
  EXPECT_EQ(echoed(**stream, "x"), "x");
  (*stream)->abort();
  loop.run_until_idle(loop.now() + seconds(1));
  EXPECT_EQ(ends, std::vector<std::string>{"connection_reset"});
}

TEST_F(TlsTest, HalfAStreamEndsInOrder) {
  start();
  auto stream = connect();
  EXPECT_EQ(echoed(**stream, "x"), "x");
  (*stream)->shutdown_write();
  EXPECT_EQ((*stream)->try_write("y").kind, IoResult::Kind::kReset);
  EXPECT_EQ(echoed(**stream, std::string("z")), "<end>");
  EXPECT_EQ(ends, std::vector<std::string>{"end"});
}

TEST_F(TlsTest, AHangUpIsSeenWithoutARead) {
  start();
  auto stream = connect();
  EXPECT_EQ(echoed(**stream, "x"), "x");
  rt::Scope scope(loop);
  (*stream)->cancel_on_hangup(&scope);
  EXPECT_FALSE(scope.cancelled());
  group->cancel(rt::CancelReason::kShutdown);
  loop.run_until_idle(loop.now() + seconds(1));
  EXPECT_EQ(scope.reason(), rt::CancelReason::kClientGone);
  (*stream)->cancel_on_hangup(nullptr);
}

TEST_F(TlsTest, InsistsOnTheHost) {
  start();
  EXPECT_TRUE(connect(address, "engine.example"));
  EXPECT_TRUE(connect(address, "a.wild.example"));
  EXPECT_TRUE(connect(address, "10.0.0.1"));
  for (const char* host :
       {"other.example", "wild.example", "a.b.wild.example", "10.0.0.2", "::1"}) {
    const auto stream = connect(address, host);
    ASSERT_FALSE(stream) << host;
    EXPECT_EQ(stream.error().code(), ErrorCode::kUnavailable);
    EXPECT_NE(stream.error().message().find("mismatch"), std::string::npos)
        << stream.error().message();
  }
}

TEST_F(TlsTest, InsistsOnAKnownAuthorityAndOnTime) {
  start();
  const TestAuthority stranger;
  const auto now = clock.wall();
  const std::array<std::pair<Certificate, const char*>, 3> bad = {
      {{stranger.issue("DNS:engine.example"), "unable to get local issuer certificate"},
       {authority.issue("DNS:engine.example", TestAuthority::at_year(2000), now - seconds(1)),
        "certificate has expired"},
       {authority.issue("DNS:engine.example", now + seconds(60), TestAuthority::at_year(2100)),
        "certificate is not yet valid"}}};
  for (const auto& [wrong, why] : bad) {
    ASSERT_TRUE(server->replace(wrong));
    const auto stream = connect();
    ASSERT_FALSE(stream) << why;
    EXPECT_NE(stream.error().message().find(why), std::string::npos) << stream.error().message();
  }
  loop.run_until_idle(loop.now() + seconds(61));
  EXPECT_TRUE(connect()) << "valid by now";
}

TEST_F(TlsTest, TheSystemsAuthoritiesDoNotKnowTheTestOne) {
  start();
  client = *TlsClient::make("");
  EXPECT_FALSE(connect());
}

TEST_F(TlsTest, WithoutVerificationAnyCertificateWillDo) {
  start();
  client = *TlsClient::make(TlsClientOptions{.verification = PeerVerification::kNone});
  auto stream = connect(address, "someone-else.example");
  ASSERT_TRUE(stream);
  EXPECT_EQ(echoed(**stream, "x"), "x");
}

TEST_F(TlsTest, ReplacesTheCertificateUnderRunningConnections) {
  start();
  auto before = connect();
  EXPECT_EQ(echoed(**before, "a"), "a");
  ASSERT_TRUE(server->replace(authority.issue("DNS:new.example", TestAuthority::at_year(2000),
                                              TestAuthority::at_year(2050))));
  EXPECT_EQ(server->expires(), TestAuthority::at_year(2050));
  EXPECT_EQ(echoed(**before, "b"), "b");
  EXPECT_FALSE(connect());
  EXPECT_TRUE(connect(address, "new.example"));
}

TEST_F(TlsTest, ABadCertificateChangesNothing) {
  start();
  const Certificate other = authority.issue("DNS:engine.example");
  const std::string cut = certificate.chain_pem.substr(0, certificate.chain_pem.size() / 2);
  const std::array<std::pair<Certificate, const char*>, 6> bad = {
      {{{"", certificate.key_pem}, "the certificate: holds no certificate"},
       {{"x", certificate.key_pem}, "the certificate: holds no certificate"},
       {{cut, certificate.key_pem}, "the certificate: "},
       {{certificate.chain_pem, ""}, "the key: "},
       {{certificate.chain_pem, certificate.chain_pem}, "the key: "},
       {{certificate.chain_pem, other.key_pem}, "certificate and key do not go together"}}};
  for (const auto& [wrong, why] : bad) {
    const base::Result<> replaced = server->replace(wrong);
    ASSERT_FALSE(replaced) << why;
    EXPECT_TRUE(replaced.error().describe().starts_with(why)) << replaced.error().describe();
    EXPECT_TRUE(connect());
    EXPECT_FALSE(TlsServer::make(wrong));
    const auto shown = TlsClient::make(TlsClientOptions{.certificate = wrong});
    ASSERT_FALSE(shown) << why;
    EXPECT_TRUE(shown.error().describe().starts_with(why)) << shown.error().describe();
  }
  EXPECT_FALSE(TlsClient::make("nonsense"));
}

TEST_F(TlsTest, AHandshakeCutOffAnywhereHarmsNobodyElse) {
  start();
  {
    auto stream = connect(wire_address, "engine.example");
    ASSERT_TRUE(stream);
    EXPECT_EQ(echoed(**stream, "x"), "x");
  }
  loop.run_until_idle(loop.now() + seconds(1));
  const size_t up = wire.up_bytes;
  const size_t down = wire.down_bytes;
  for (size_t i = 0; i < up + down; i += 7) {
    wire = {};
    wire.cut = i % 2 == 0 ? Wire::Cut::kClose : Wire::Cut::kReset;
    if (i < up) wire.up_bytes_max = i + 1;
    if (i >= up) wire.down_bytes_max = i - up + 1;
    auto stream = connect(wire_address, "engine.example");
    if (stream) {
      EXPECT_NE(echoed(**stream, text_of(2000)), text_of(2000));
      stream->reset();
    }
    loop.run_until_idle(loop.now() + seconds(1));
  }
  EXPECT_TRUE(connect());
}

TEST_F(TlsTest, AChangedByteIsNeverTakenForData) {
  start();
  size_t failed = 0;
  for (size_t i = 0; i < 400; ++i) {
    wire = {};
    (i % 2 == 0 ? wire.flip_up : wire.flip_down) = i * 5;
    served.clear();
    auto stream = connect(wire_address, "engine.example");
    const std::string got = stream ? echoed(**stream, text_of(1000)) : "";
    const bool whole = got == text_of(1000);  // some bits of a handshake mean nothing
    failed += whole ? 0 : 1;
    EXPECT_TRUE(text_of(1000).starts_with(served)) << i;
  }
  EXPECT_GT(failed, 300u);
}

TEST_F(TlsTest, GarbageEndsTheConnectionAndNothingElse) {
  start();
  auto good = connect();
  base::Random random(1);
  for (int i = 0; i < 500; ++i) {
    std::string bytes(1 + random.below(3000), '\0');
    for (char& c : bytes) c = static_cast<char>(random.next());
    // Half of it looks like a handshake record.
    if (i % 2 == 0)
      bytes.replace(0, std::min<size_t>(5, bytes.size()), "\x16\x03\x01\x01\x20",
                    std::min<size_t>(5, bytes.size()));
    const std::string got = loop.block_on(raw(bytes));
    EXPECT_TRUE(got.ends_with("<end>") || got.ends_with("<connection_reset>")) << got;
  }
  EXPECT_EQ(server->handshakes_failed(), 500u);
  EXPECT_EQ(served, "");
  EXPECT_EQ(echoed(**good, "still here"), "still here");
}

TEST_F(TlsTest, PlainHttpIsToldSo) {
  start();
  const std::string got = loop.block_on(raw("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_TRUE(got.starts_with("HTTP/1.1 400 Bad Request\r\n")) << got;
  const size_t body = got.find("\r\n\r\n") + 4;
  const size_t length = got.size() - body - std::string_view("<end>").size();
  EXPECT_NE(got.find(fmt::format("Content-Length: {}\r\n", length)), std::string::npos) << got;
  EXPECT_TRUE(got.ends_with("}<end>")) << got;
}

TEST_F(TlsTest, AHandshakeHasATime) {
  start();
  for (const char* bytes : {"\x16", "\x16\x03\x01\x02"}) {
    const base::TimePoint before = loop.now();
    loop.block_on(raw(bytes));
    EXPECT_NEAR(base::to_seconds(loop.now() - before), 10, 0.01) << bytes;
  }
  EXPECT_EQ(server->handshakes_failed(), 2u);
}

TEST_F(TlsTest, AHelloThatNeverEndsIsCutOff) {
  start();
  // One message of 131,312 bytes, just under what OpenSSL would take, in records of 16 KiB.
  std::string bytes;
  std::string message = std::string("\x01\x02\x00\xf0", 4) + std::string(140'000, 'a');
  for (size_t at = 0; at < 131'316; at += 16'384) {
    bytes += std::string("\x16\x03\x01\x40\x00", 5) + message.substr(at, 16'384);
  }
  const base::TimePoint before = loop.now();
  loop.block_on(raw(bytes));
  EXPECT_LT(loop.now() - before, seconds(1));
  EXPECT_EQ(server->handshakes_failed(), 1u);
}

TEST_F(TlsTest, OneHandshakeTooManyEndsTheOldest) {
  options.handshakes_max = 3;
  start();
  rt::TaskGroup clients(loop);
  std::vector<int> ended;
  struct Idle {
    static rt::Task<void> run(MemoryNetwork& net, Address to, int number, std::vector<int>& ended) {
      auto stream = co_await net.connect(to, base::kNever);
      std::array<char, 10> buffer{};
      const auto n = co_await read_some(**stream, buffer);
      if (!n || *n == 0) ended.push_back(number);
    }
  };
  for (int i = 0; i < 5; ++i) clients.spawn(Idle::run(*network, address, i, ended));
  loop.run_until_idle(loop.now() + seconds(1));
  EXPECT_EQ(ended, (std::vector<int>{0, 1}));
  EXPECT_TRUE(connect()) << "one that goes on is not held up";
  EXPECT_EQ(ended, (std::vector<int>{0, 1, 2}));
  clients.cancel(rt::CancelReason::kShutdown);
  loop.run_until_idle(loop.now() + seconds(1));
}

TEST_F(TlsTest, AClientGivesUpAtItsDeadline) {
  start();
  network->freeze(address);
  const base::TimePoint before = loop.now();
  const auto stream = loop.block_on(dial(address, "engine.example", seconds(2)));
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code(), ErrorCode::kDeadlineExceeded);
  EXPECT_EQ(loop.now() - before, seconds(2));
  network->thaw(address);
}

TEST_F(TlsTest, OtherBytesAfterAShortWriteFailTheStream) {
  memory.window_bytes = 5000;
  start();
  auto stream = connect();
  network->freeze(address);
  const std::string text = text_of(60'000);
  size_t taken = 0;
  for (IoResult io = (*stream)->try_write(text); io.kind == IoResult::Kind::kBytes;
       io = (*stream)->try_write(std::string_view(text).substr(taken))) {
    taken += io.count;
  }
  EXPECT_LT(taken, text.size());
  EXPECT_EQ((*stream)->try_write(std::string(text.size() - taken, '!')).kind,
            IoResult::Kind::kReset);
  network->thaw(address);
}

// Handlers see no difference.
class Hello final : public Handler {
 public:
  rt::Task<void> handle(Exchange& exchange) override {
    const RequestHead& head = exchange.request();
    if (head.path == "/broken") {
      static_cast<void>(co_await exchange.start({200, "text/plain", {}}));
      static_cast<void>(co_await exchange.write("half"));
      co_return;
    }
    const std::string body = fmt::format("{}:{}", head.path, exchange.body().size());
    static_cast<void>(co_await exchange.respond({200, "text/plain", {}}, body));
  }
  Refusal refusal(int status, std::string_view message) override {
    return {.status = status, .body = std::string(message), .extra_fields = {}};
  }
};

rt::Task<void> ask(MemoryNetwork& network, const TlsClient& client, Address to,
                   std::vector<std::string>& answers) {
  auto stream = co_await connect_tls(network, client, to, "engine.example", base::kNever);
  if (!stream) co_return;
  ClientConnection connection(std::move(*stream));
  const std::string body(100'000, 'b');
  for (const char* target : {"/a", "/b", "/broken"}) {
    const auto answer = co_await fetch(
        connection, {.method = "POST", .target = target, .host = "x", .body = body}, base::kNever);
    answers.push_back(answer ? answer->body : std::string(to_string(answer.error().code())));
    if (answer) EXPECT_TRUE(connection.reusable()) << target;
  }
}

TEST_F(TlsTest, ServesHttp) {
  MemoryNetwork net(loop, memory);
  Hello hello;
  HttpServer http(net, hello, {.tls = server.get()});
  ASSERT_TRUE(http.listen(address, PortSharing::kExclusive));
  rt::TaskGroup work(loop);
  work.spawn(http.run());
  std::vector<std::string> answers;
  work.spawn(ask(net, *client, address, answers));
  loop.run_until_idle(loop.now() + seconds(1));
  EXPECT_EQ(answers, (std::vector<std::string>{"/a:100000", "/b:100000", "connection_reset"}));
  work.cancel(rt::CancelReason::kShutdown);
  loop.run_until_idle(loop.now() + seconds(1));
  EXPECT_EQ(work.running(), 0u);
}

}  // namespace
}  // namespace fairlead::net
