#include "net/tcp.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "net/fd.h"
#include "rt/blocking.h"

namespace fairlead::net {
namespace {

constexpr int kBacklog = 4096;
constexpr auto kAcceptPause = std::chrono::milliseconds(10);

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

SocketAddress to_sockaddr(const Address& address) {
  SocketAddress result;
  if (address.family == Address::Family::kV4) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(address.port);
    std::memcpy(&v4.sin_addr, address.bytes.data(), 4);
    std::memcpy(&result.storage, &v4, sizeof v4);
    result.size = sizeof v4;
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    std::memcpy(&v6.sin6_addr, address.bytes.data(), 16);
    std::memcpy(&result.storage, &v6, sizeof v6);
    result.size = sizeof v6;
  }
  return result;
}

Address from_sockaddr(const sockaddr_storage& storage) {
  Address address;
  if (storage.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &storage, sizeof v4);
    address.port = ntohs(v4.sin_port);
    std::memcpy(address.bytes.data(), &v4.sin_addr, 4);
  } else {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &storage, sizeof v6);
    address.family = Address::Family::kV6;
    address.port = ntohs(v6.sin6_port);
    std::memcpy(address.bytes.data(), &v6.sin6_addr, 16);
  }
  return address;
}

// A streamed chunk is one piece, and send() is the cheaper call.
ssize_t send_pieces(int fd, std::span<const iovec> pieces) {
  if (pieces.size() == 1) return send(fd, pieces[0].iov_base, pieces[0].iov_len, MSG_NOSIGNAL);
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data());
  message.msg_iovlen = pieces.size();
  return sendmsg(fd, &message, MSG_NOSIGNAL);
}

Fd new_socket(const Address& address) {
  const int family = address.family == Address::Family::kV4 ? AF_INET : AF_INET6;
  return Fd(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void enable(int fd, int level, int option) {
  const int one = 1;
  setsockopt(fd, level, option, &one, sizeof one);
}

class TcpStream final : public ByteStream, private rt::IoHandler {
 public:
  TcpStream(rt::Loop& loop, Fd fd) : loop_(loop), fd_(std::move(fd)) {
    enable(fd_.get(), IPPROTO_TCP, TCP_NODELAY);
  }
  ~TcpStream() override { loop_.unwatch(fd_.get(), *this); }
  TcpStream(const TcpStream&) = delete;
  TcpStream& operator=(const TcpStream&) = delete;

  base::Result<> start() { return loop_.watch(fd_.get(), *this); }
  // A connecting socket becomes writable when it is connected or has failed.
  void expect_connect() { set_writable(false); }
  void came_from(const Address& peer) { set_peer(peer); }
  int take_error() const {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
  }

  IoResult try_read(std::span<char> into) override {
    const ssize_t n = recv(fd_.get(), into.data(), into.size(), 0);
    if (n > 0) {
      // A short read has emptied the socket: more bytes raise another event. After a hang-up no
      // event may follow, so the end must be read without one.
      if (static_cast<size_t>(n) < into.size() && !hung_up()) set_readable(false);
      return {IoResult::Kind::kBytes, static_cast<size_t>(n)};
    }
    if (n == 0) return {IoResult::Kind::kEof, 0};
    if (errno == EAGAIN || errno == EINTR) {
      set_readable(errno == EINTR);
      return {IoResult::Kind::kWouldBlock, 0};
    }
    return {IoResult::Kind::kReset, 0};
  }

  IoResult try_write(std::span<const iovec> pieces) override {
    const ssize_t n = send_pieces(fd_.get(), pieces);
    if (n >= 0) return {IoResult::Kind::kBytes, static_cast<size_t>(n)};
    if (errno == EAGAIN || errno == EINTR) {
      set_writable(errno == EINTR);
      return {IoResult::Kind::kWouldBlock, 0};
    }
    return {IoResult::Kind::kReset, 0};
  }

  void shutdown_write() override { shutdown(fd_.get(), SHUT_WR); }

  void abort() override {
    const linger reset = {1, 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    // The close that sends the reset comes with the destructor; until then nothing more is sent.
    shutdown(fd_.get(), SHUT_RD);
  }

 private:
  void on_events(uint32_t events) override {
    if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) set_hung_up();
    if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) set_readable(true);
    if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) set_writable(true);
  }

  rt::Loop& loop_;
  Fd fd_;
};

class TcpListener final : public Listener, private rt::IoHandler {
 public:
  TcpListener(rt::Loop& loop, Fd fd, const Address& address)
      : loop_(loop), fd_(std::move(fd)), address_(address) {}
  ~TcpListener() override { loop_.unwatch(fd_.get(), *this); }
  TcpListener(const TcpListener&) = delete;
  TcpListener& operator=(const TcpListener&) = delete;

  base::Result<> start() { return loop_.watch(fd_.get(), *this); }
  Address address() const override { return address_; }
  int descriptor() const override { return fd_.get(); }

  rt::Task<base::Result<std::unique_ptr<ByteStream>>> accept() override {
    for (;;) {
      SocketAddress peer;
      peer.size = sizeof peer.storage;
      Fd fd(accept4(fd_.get(), peer.get(), &peer.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (fd.get() >= 0) {
        auto stream = std::make_unique<TcpStream>(loop_, std::move(fd));
        stream->came_from(without_mapping(from_sockaddr(peer.storage)));
        if (stream->start().ok()) co_return std::unique_ptr<ByteStream>(std::move(stream));
        continue;
      }
      if (errno == ECONNABORTED || errno == EINTR) continue;
      // Out of descriptors or memory: existing connections go on; try again in a moment.
      const base::TimePoint retry =
          errno == EAGAIN ? base::kNever : base::after(loop_.now(), kAcceptPause);
      const rt::WaitStatus status = co_await arrived_.wait(retry);
      if (status == rt::WaitStatus::kCancelled) {
        co_return wait_error(status, co_await rt::current_scope());
      }
    }
  }

 private:
  void on_events(uint32_t) override { arrived_.notify_all(); }

  rt::Loop& loop_;
  Fd fd_;
  Address address_;
  rt::WaitList arrived_;
};

base::Error listen_error(const Address& address) {
  const char* advice =
      errno == EADDRINUSE ? " (another process listens there: stop it or choose another port)" : "";
  return base::Error(
      base::ErrorCode::kUnavailable,
      fmt::format("cannot listen on {}: {}{}", to_string(address), std::strerror(errno), advice));
}

}  // namespace

base::Result<Address> bound_address(const Fd& listening) {
  SocketAddress bound;
  bound.size = sizeof bound.storage;
  const bool known = getsockname(listening.get(), bound.get(), &bound.size) == 0;
  const auto family = bound.storage.ss_family;
  if (!known || (family != AF_INET && family != AF_INET6)) {
    return base::invalid_argument("no listening socket of TCP");
  }
  return from_sockaddr(bound.storage);
}

base::Result<std::unique_ptr<Listener>> TcpNetwork::listen(const Address& address,
                                                           PortSharing sharing) {
  SocketAddress sockaddr = to_sockaddr(address);
  Fd fd = new_socket(address);
  enable(fd.get(), SOL_SOCKET, SO_REUSEADDR);
  if (sharing == PortSharing::kShared) enable(fd.get(), SOL_SOCKET, SO_REUSEPORT);
  if (bind(fd.get(), sockaddr.get(), sockaddr.size) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    return listen_error(address);
  }
  return adopt(std::move(fd));
}

base::Result<std::unique_ptr<Listener>> TcpNetwork::adopt(Fd fd) {
  const base::Result<Address> bound = bound_address(fd);
  if (!bound) return bound.error();
  fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  auto listener = std::make_unique<TcpListener>(loop_, std::move(fd), *bound);
  const base::Result<> started = listener->start();
  if (!started) return started.error();
  return std::unique_ptr<Listener>(std::move(listener));
}

rt::Task<base::Result<std::unique_ptr<ByteStream>>> TcpNetwork::connect(const Address& address,
                                                                        base::TimePoint deadline) {
  const auto failed = [&address](int error) {
    return base::Error(
        base::ErrorCode::kUnavailable,
        fmt::format("cannot connect to {}: {}", to_string(address), std::strerror(error)));
  };
  SocketAddress sockaddr = to_sockaddr(address);
  Fd fd = new_socket(address);
  if (fd.get() < 0) co_return failed(errno);
  const int rc = ::connect(fd.get(), sockaddr.get(), sockaddr.size);
  const bool pending = rc != 0 && errno == EINPROGRESS;
  if (rc != 0 && !pending) co_return failed(errno);
  auto stream = std::make_unique<TcpStream>(loop_, std::move(fd));
  if (pending) stream->expect_connect();
  const base::Result<> started = stream->start();
  if (!started) co_return started.error();
  if (pending) {
    const rt::WaitStatus status = co_await stream->wait_writable(deadline);
    if (status != rt::WaitStatus::kReady) {
      co_return wait_error(status, co_await rt::current_scope())
          .wrap(fmt::format("cannot connect to {}", to_string(address)));
    }
    const int error = stream->take_error();
    if (error != 0) co_return failed(error);
  }
  co_return std::unique_ptr<ByteStream>(std::move(stream));
}

rt::Task<base::Result<std::vector<Address>>> TcpNetwork::resolve(const HostPort& host,
                                                                 base::TimePoint deadline) {
  using Addresses = base::Result<std::vector<Address>>;
  std::optional<Addresses> found =
      co_await rt::run_blocking<Addresses>([host] { return resolve_blocking(host); }, deadline);
  if (found) co_return std::move(*found);
  co_return base::Error(base::ErrorCode::kDeadlineExceeded,
                        fmt::format("resolving '{}' took too long", host.host));
}

}  // namespace fairlead::net
