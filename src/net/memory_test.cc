#include "net/memory.h"

#include <gtest/gtest.h>

#include <array>

#include "rt/task_group.h"

namespace fairlead::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct MemoryTest : testing::Test {
  base::ManualClock clock;
  rt::Loop loop{clock};
  Address address = *parse_address("10.0.0.1:80");

  using Streams = std::pair<std::unique_ptr<ByteStream>, std::unique_ptr<ByteStream>>;
  static rt::Task<Streams> connect_pair(MemoryNetwork& network, Listener& listener,
                                        Address address) {
    auto client = co_await network.connect(address, base::kNever);
    auto server = co_await listener.accept();
    co_return Streams(std::move(*client), std::move(*server));
  }
  static rt::Task<std::string> read_text(ByteStream& stream, base::TimePoint deadline) {
    std::array<char, 64> buffer{};
    const auto n = co_await read_some(stream, buffer, deadline);
    if (!n) co_return std::string(to_string(n.error().code()));
    co_return std::string(buffer.data(), *n);
  }
};

TEST_F(MemoryTest, BytesArriveAfterTheLatency) {
  MemoryNetwork network(loop, {.latency = milliseconds(10)});
  auto listener = network.listen(address, PortSharing::kExclusive);
  {
    auto [client, server] = loop.block_on(connect_pair(network, **listener, address));
    EXPECT_EQ(loop.now(), base::TimePoint(milliseconds(20)));
    EXPECT_EQ(client->try_write("hello").count, 5u);
    EXPECT_EQ(loop.block_on(read_text(*server, base::kNever)), "hello");
    EXPECT_EQ(loop.now(), base::TimePoint(milliseconds(30)));
    EXPECT_EQ(network.open_streams(), 1u);
    client.reset();
    EXPECT_EQ(loop.block_on(read_text(*server, base::kNever)), "");
    EXPECT_TRUE(server->hung_up());
  }
  EXPECT_EQ(network.open_streams(), 0u);
}

TEST_F(MemoryTest, TheWindowHoldsTheWriterBack) {
  MemoryNetwork network(loop, {.window_bytes = 10});
  auto listener = network.listen(address, PortSharing::kExclusive);
  auto [client, server] = loop.block_on(connect_pair(network, **listener, address));
  EXPECT_EQ(client->try_write("0123456789ab").count, 10u);
  EXPECT_EQ(client->try_write("ab").kind, IoResult::Kind::kWouldBlock);
  EXPECT_EQ(loop.block_on(read_text(*server, base::kNever)), "0123456789");
  EXPECT_EQ(client->try_write("ab").count, 2u);
  static_cast<void>(loop.block_on(read_text(*server, base::kNever)));
}

TEST_F(MemoryTest, AFrozenPeerTakesBytesAndSaysNothing) {
  MemoryNetwork network(loop, {});
  auto listener = network.listen(address, PortSharing::kExclusive);
  auto [client, server] = loop.block_on(connect_pair(network, **listener, address));
  network.freeze(address);
  EXPECT_EQ(client->try_write("x").count, 1u);
  EXPECT_EQ(server->try_write("y").count, 1u);
  EXPECT_EQ(loop.block_on(read_text(*client, loop.now() + seconds(1))), "deadline_exceeded");
  network.thaw(address);
  EXPECT_EQ(loop.block_on(read_text(*client, loop.now() + seconds(1))), "y");
  static_cast<void>(loop.block_on(read_text(*server, base::kNever)));
}

TEST_F(MemoryTest, ResetsReachTheOtherEnd) {
  MemoryNetwork network(loop, {});
  auto listener = network.listen(address, PortSharing::kExclusive);
  auto [client, server] = loop.block_on(connect_pair(network, **listener, address));
  server->abort();
  EXPECT_EQ(loop.block_on(read_text(*client, base::kNever)), "connection_reset");
  EXPECT_EQ(client->try_write("x").kind, IoResult::Kind::kReset);
}

TEST_F(MemoryTest, AConnectThatIsSwallowedEndsAtItsDeadline) {
  MemoryNetwork network(loop, {});
  auto listener = network.listen(address, PortSharing::kExclusive);
  network.swallow_connects(address);
  const auto stream = loop.block_on(network.connect(address, base::TimePoint(seconds(1))));
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code(), base::ErrorCode::kDeadlineExceeded);
  EXPECT_EQ(loop.now(), base::TimePoint(seconds(1)));
}

TEST_F(MemoryTest, ConnectingToNobodyIsRefused) {
  MemoryNetwork network(loop, {});
  const auto stream = loop.block_on(network.connect(address, base::kNever));
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code(), base::ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace fairlead::net
