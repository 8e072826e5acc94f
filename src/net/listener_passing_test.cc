#include "net/listener_passing.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <thread>

#include "net/tcp.h"

namespace fairlead::net {
namespace {

using std::chrono::milliseconds;

// Two connected ends.
std::array<Fd, 2> pair_of_sockets() {
  std::array<int, 2> fds{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds.data()), 0);
  return {Fd(fds[0]), Fd(fds[1])};
}

struct Bound {
  rt::Loop loop;
  TcpNetwork network{loop};
  std::unique_ptr<Listener> listener =
      std::move(*network.listen(*parse_address("127.0.0.1:0"), PortSharing::kExclusive));
};

// Connects and says whether the connection was taken into the listener's queue.
Fd dial(const Address& address) {
  Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(address.port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool ok = connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  return ok ? std::move(fd) : Fd();
}

std::string socket_path() {
  return testing::TempDir() + "listener_passing_test." + std::to_string(getpid());
}

TEST(ListenerPassing, TheQueueOfASocketGoesOverWithIt) {
  auto [old_end, new_end] = pair_of_sockets();
  auto bound = std::make_unique<Bound>();
  const Address address = bound->listener->address();
  const Fd queued = dial(address);
  ASSERT_GE(queued.get(), 0);
  std::vector<NamedListener> sent;
  sent.push_back({.name = "clients", .fd = std::move(*duplicate(bound->listener->descriptor()))});
  ASSERT_TRUE(send_listeners(old_end, sent));
  auto received = receive_listeners(new_end);
  ASSERT_TRUE(received) << received.error().describe();
  ASSERT_EQ(received->size(), 1U);
  EXPECT_EQ(received->front().name, "clients");
  // The old process closes everything of it.
  sent.clear();
  bound.reset();
  const Fd refused_or_not = dial(address);
  EXPECT_GE(refused_or_not.get(), 0) << "the socket listens on";
  rt::Loop loop;
  TcpNetwork network(loop);
  auto adopted = network.adopt(std::move(received->front().fd));
  ASSERT_TRUE(adopted) << adopted.error().describe();
  EXPECT_EQ((*adopted)->address(), address);
  EXPECT_TRUE(loop.block_on((*adopted)->accept())) << "the one that was queued before";
  EXPECT_TRUE(loop.block_on((*adopted)->accept()));
}

TEST(ListenerPassing, PassesManyInOrder) {
  constexpr size_t kMany = 300;  // more than one message may carry, and than a socket's queue
  auto [old_end, new_end] = pair_of_sockets();
  Bound bound;
  std::vector<NamedListener> sent;
  for (size_t i = 0; i < kMany; ++i) {
    sent.push_back({.name = "l" + std::to_string(i),
                    .fd = std::move(*duplicate(bound.listener->descriptor()))});
  }
  std::thread sender([&] { EXPECT_TRUE(send_listeners(old_end, sent)); });
  const auto received = receive_listeners(new_end);
  sender.join();
  ASSERT_TRUE(received) << received.error().describe();
  ASSERT_EQ(received->size(), kMany);
  for (size_t i = 0; i < kMany; ++i) EXPECT_EQ((*received)[i].name, "l" + std::to_string(i));
}

TEST(ListenerPassing, TakesNothingButListeningSockets) {
  for (const char* word : {"listener x", "listener", "hello"}) {
    auto [old_end, new_end] = pair_of_sockets();
    ASSERT_TRUE(send_word(old_end, word));
    EXPECT_EQ(receive_listeners(new_end).error().code(), base::ErrorCode::kProtocol) << word;
  }
  auto [old_end, new_end] = pair_of_sockets();
  std::vector<NamedListener> sent;
  sent.push_back({.name = "x", .fd = std::move(*duplicate(new_end.get()))});
  ASSERT_TRUE(send_listeners(old_end, sent));
  EXPECT_EQ(receive_listeners(new_end).error().code(), base::ErrorCode::kProtocol);
}

TEST(ListenerPassing, EndsWhenTheOtherProcessDoesOrIsSilent) {
  auto [old_end, new_end] = pair_of_sockets();
  limit_time(new_end, milliseconds(1));
  EXPECT_EQ(receive_listeners(new_end).error().code(), base::ErrorCode::kDeadlineExceeded);
  old_end = Fd();
  EXPECT_EQ(receive_listeners(new_end).error().code(), base::ErrorCode::kClosed);
}

TEST(UnixListener, IsForItsUserAlone) {
  const std::string path = socket_path();
  const auto listener = listen_unix(path);
  ASSERT_TRUE(listener) << listener.error().describe();
  struct stat about {};
  ASSERT_EQ(stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0600U);
  EXPECT_LT(accept_unix(*listener).get(), 0) << "nobody has come";
  const auto client = connect_unix(path);
  ASSERT_TRUE(client);
  const Fd server = accept_unix(*listener);
  ASSERT_GE(server.get(), 0);
  ASSERT_TRUE(send_word(*client, "hello"));
  EXPECT_EQ(*receive_word(server), "hello");
  unlink(path.c_str());
}

TEST(UnixListener, TakesThePlaceOfAnother) {
  const std::string path = socket_path();
  const auto first = listen_unix(path);
  const auto second = listen_unix(path);
  ASSERT_TRUE(second) << second.error().describe();
  const auto client = connect_unix(path);
  ASSERT_TRUE(client);
  EXPECT_LT(accept_unix(*first).get(), 0);
  EXPECT_GE(accept_unix(*second).get(), 0);
  unlink(path.c_str());
}

TEST(UnixListener, SaysThatNobodyIsThere) {
  const std::string path = socket_path();
  EXPECT_EQ(connect_unix(path).error().code(), base::ErrorCode::kNotFound);
  { const auto gone = listen_unix(path); }
  EXPECT_EQ(connect_unix(path).error().code(), base::ErrorCode::kNotFound) << "a file is left";
  unlink(path.c_str());
  EXPECT_EQ(connect_unix(std::string(200, 'x')).error().code(), base::ErrorCode::kInvalidArgument);
  EXPECT_EQ(listen_unix("").error().code(), base::ErrorCode::kInvalidArgument);
  EXPECT_EQ(listen_unix("/nowhere/at/all").error().code(), base::ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace fairlead::net
