#include "net/tcp.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "rt/task_group.h"

namespace fairlead::net {
namespace {

using std::chrono::seconds;

struct TcpTest : testing::Test {
  rt::Loop loop;
  TcpNetwork network{loop};
  Address any_port = *parse_address("127.0.0.1:0");
};

rt::Task<base::Result<>> echo_one(Listener& listener) {
  auto stream = co_await listener.accept();
  if (!stream) co_return stream.error();
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto n = co_await read_some(**stream, buffer);
    if (!n) co_return n.error();
    if (*n == 0) co_return base::Result<>();
    const auto written = co_await write_all(**stream, std::string_view(buffer.data(), *n));
    if (!written) co_return written.error();
  }
}

rt::Task<size_t> send_and_count(Network& network, Address to, size_t bytes) {
  auto stream = co_await network.connect(to, network.loop().now() + seconds(5));
  EXPECT_TRUE(stream.ok());
  rt::Scope& scope = co_await rt::current_scope();
  rt::TaskGroup group(scope);
  struct Send {
    static rt::Task<void> all(ByteStream& to_stream, size_t count) {
      const std::string text(count, 'x');
      static_cast<void>(co_await write_all(to_stream, text));
      to_stream.shutdown_write();
    }
  };
  group.spawn(Send::all(**stream, bytes));
  size_t got = 0;
  std::array<char, 10000> buffer{};
  for (;;) {
    const auto n = co_await read_some(**stream, buffer);
    if (!n || *n == 0) break;
    got += *n;
  }
  static_cast<void>(co_await group.join());
  co_return got;
}

TEST_F(TcpTest, CarriesMoreBytesThanAnyBufferHoldsBothWays) {
  auto listener = network.listen(any_port, PortSharing::kExclusive);
  ASSERT_TRUE(listener);
  rt::TaskGroup group(loop);
  group.spawn(echo_one(**listener));
  EXPECT_EQ(loop.block_on(send_and_count(network, (*listener)->address(), 8 << 20)), 8u << 20);
  group.cancel(rt::CancelReason::kShutdown);
  EXPECT_TRUE(loop.block_on(group.join()));
}

TEST_F(TcpTest, APortInUseIsNamedWithAdvice) {
  auto first = network.listen(any_port, PortSharing::kExclusive);
  ASSERT_TRUE(first);
  const auto second = network.listen((*first)->address(), PortSharing::kExclusive);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message().find(to_string((*first)->address())), std::string::npos);
  EXPECT_NE(second.error().message().find("another process listens there"), std::string::npos);
}

TEST_F(TcpTest, SharedPortsMayBeBoundOnceALoop) {
  auto first = network.listen(any_port, PortSharing::kShared);
  ASSERT_TRUE(first);
  EXPECT_TRUE(network.listen((*first)->address(), PortSharing::kShared));
}

rt::Task<base::Result<std::unique_ptr<ByteStream>>> connect_to(Network& network, Address to) {
  co_return co_await network.connect(to, network.loop().now() + seconds(5));
}

TEST_F(TcpTest, ARefusedConnectionIsUnavailable) {
  Address closed;
  {
    auto listener = network.listen(any_port, PortSharing::kExclusive);
    closed = (*listener)->address();
  }
  const auto stream = loop.block_on(connect_to(network, closed));
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code(), base::ErrorCode::kUnavailable);
}

rt::Task<rt::CancelReason> hang_up_cancels(Network& network, Listener& listener) {
  auto client = co_await network.connect(listener.address(), base::kNever);
  auto server = co_await listener.accept();
  rt::Scope& outer = co_await rt::current_scope();
  rt::Scope request(outer);
  (*server)->cancel_on_hangup(&request);
  client->reset();
  struct Wait {
    static rt::Task<void> forever() { co_await rt::sleep_until(base::kNever); }
  };
  co_await Wait::forever().in(request);
  (*server)->cancel_on_hangup(nullptr);
  co_return request.reason();
}

rt::Task<Address> peer_of_an_accepted(Network& network, Listener& listener) {
  auto client = co_await network.connect(listener.address(), base::kNever);
  auto server = co_await listener.accept();
  co_return (*server)->peer();
}

TEST_F(TcpTest, AnAcceptedStreamKnowsWhomItCameFrom) {
  auto listener = network.listen(any_port, PortSharing::kExclusive);
  const Address peer = loop.block_on(peer_of_an_accepted(network, **listener));
  std::string ip;
  append_ip(ip, peer);
  EXPECT_EQ(ip, "127.0.0.1");
  EXPECT_NE(peer.port, 0);
  EXPECT_NE(peer.port, (*listener)->address().port);
}

TEST_F(TcpTest, AV4ClientOfAV6SocketIsAV4Address) {
  auto listener = network.listen(*parse_address("[::]:0"), PortSharing::kExclusive);
  ASSERT_TRUE(listener) << listener.error().describe();
  Address to = any_port;
  to.port = (*listener)->address().port;
  struct Connect {
    static rt::Task<Address> accept(Network& net, Listener& from, Address address) {
      auto client = co_await net.connect(address, base::kNever);
      EXPECT_TRUE(client.ok());
      auto server = co_await from.accept();
      co_return (*server)->peer();
    }
  };
  const Address peer = loop.block_on(Connect::accept(network, **listener, to));
  EXPECT_EQ(peer.family, Address::Family::kV4);
}

TEST_F(TcpTest, AHangUpCancelsWithoutARead) {
  auto listener = network.listen(any_port, PortSharing::kExclusive);
  EXPECT_EQ(loop.block_on(hang_up_cancels(network, **listener)), rt::CancelReason::kClientGone);
}

TEST(Address, ParsesAndPrints) {
  EXPECT_EQ(to_string(*parse_address("127.0.0.1:80")), "127.0.0.1:80");
  EXPECT_EQ(to_string(*parse_address("[::1]:80")), "[::1]:80");
  for (const char* text :
       {"", "127.0.0.1", "localhost:80", "127.0.0.1:", "127.0.0.1:99999", "::1:80", "[::1]"}) {
    EXPECT_FALSE(parse_address(text)) << text;
  }
}

TEST(Address, OneAloneHasNoPort) {
  const auto printed = [](std::string_view text) {
    std::string out;
    const auto address = parse_ip(text);
    if (address) append_ip(out, *address);
    return out;
  };
  for (const char* text : {"127.0.0.1", "255.255.255.255", "0.0.0.0", "::1", "2001:db8::7"}) {
    EXPECT_EQ(printed(text), text);
  }
  EXPECT_EQ(printed("::ffff:10.0.0.1"), "10.0.0.1") << "a v4 address in v6 form";
  EXPECT_EQ(printed("2001:DB8:0:0:0:0:0:7"), "2001:db8::7");
  const std::string with_nul("127.0.0.1\0", 10);
  for (const std::string_view text :
       {std::string_view(""), std::string_view("127.0.0.1:80"), std::string_view("[::1]"),
        std::string_view("127.1"), std::string_view("010.0.0.1"), std::string_view("fe80::1%eth0"),
        std::string_view("localhost"), std::string_view(with_nul)}) {
    EXPECT_FALSE(parse_ip(text)) << text;
  }
  EXPECT_FALSE(parse_ip(std::string(1000, '1')));
}

TEST(BackendUrl, TakesHostAndPortOnly) {
  EXPECT_EQ(parse_backend_url("http://vllm-0.vllm:8000/")->host, "vllm-0.vllm");
  EXPECT_EQ(parse_backend_url("vllm:8000")->port, 8000);
  EXPECT_EQ(parse_backend_url("http://vllm")->port, 80);
  EXPECT_EQ(parse_backend_url("http://[::1]:8000")->host, "::1");
  for (const char* url :
       {"", "https://a:1", "http://a/b", "http://a:0", "vllm", "http://:80", "http://u@a:1"}) {
    EXPECT_FALSE(parse_backend_url(url)) << url;
  }
}

}  // namespace
}  // namespace fairlead::net
