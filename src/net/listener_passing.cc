#include "net/listener_passing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "net/stream.h"

namespace fairlead::net {
namespace {

constexpr std::string_view kListener = "listener ";
constexpr std::string_view kEnd = "end";
constexpr size_t kMessageBytesMax = 128;

base::Error failed(std::string_view what) {
  const bool late = errno == EAGAIN || errno == EWOULDBLOCK;
  return base::Error(late ? base::ErrorCode::kDeadlineExceeded : base::ErrorCode::kUnavailable,
                     fmt::format("{}: {}", what, late ? "no answer in time" : strerror(errno)));
}

base::Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return base::invalid_argument(fmt::format("'{}': the path of a socket has 1 to {} bytes", path,
                                              sizeof address.sun_path - 1));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Fd unix_socket() { return Fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)); }

bool same_user(const Fd& connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == geteuid() || peer.uid == 0);
}

// A message and the descriptor that may come with it.
struct Message {
  std::string word;
  Fd fd;
};

base::Result<> send_message(const Fd& connection, std::string_view word, int fd) {
  iovec piece = iovec_of(word);
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  if (sendmsg(connection.get(), &message, MSG_NOSIGNAL) < 0) return failed("sending");
  return {};
}

base::Result<Message> receive_message(const Fd& connection) {
  std::array<char, kMessageBytesMax> bytes{};
  iovec piece = {bytes.data(), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t n = recvmsg(connection.get(), &message, MSG_CMSG_CLOEXEC);
  if (n < 0) return failed("receiving");
  Message received;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    received.fd = Fd(fd);
  }
  if (n == 0) return base::Error(base::ErrorCode::kClosed, "the other process has left");
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return base::Error(base::ErrorCode::kProtocol, "a message is too long");
  }
  received.word.assign(bytes.data(), static_cast<size_t>(n));
  return received;
}

bool is_listening(const Fd& fd) {
  int listening = 0;
  socklen_t size = sizeof listening;
  return getsockopt(fd.get(), SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 && listening != 0;
}

}  // namespace

base::Result<Fd> listen_unix(const std::string& path) {
  if (path.empty()) return base::invalid_argument("the path of a socket is empty");
  const std::string fresh = fmt::format("{}.{}", path, getpid());
  const base::Result<sockaddr_un> address = unix_address(fresh);
  if (!address) return address.error();
  const auto on_path = [&path] { return failed(fmt::format("cannot listen at {}", path)); };
  Fd fd = unix_socket();
  unlink(fresh.c_str());
  const mode_t before = umask(0177);
  const int bound =
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(sockaddr_un));
  umask(before);
  if (bound != 0 || listen(fd.get(), 4) != 0) return on_path();
  if (std::rename(fresh.c_str(), path.c_str()) != 0) {
    base::Error error = on_path();
    unlink(fresh.c_str());
    return error;
  }
  fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  return fd;
}

base::Result<Fd> connect_unix(const std::string& path) {
  const base::Result<sockaddr_un> address = unix_address(path);
  if (!address) return address.error();
  Fd fd = unix_socket();
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(sockaddr_un)) != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED) {
      return base::Error(base::ErrorCode::kNotFound, fmt::format("nobody listens at {}", path));
    }
    return failed(fmt::format("cannot connect to {}", path));
  }
  if (!same_user(fd)) {
    return base::Error(base::ErrorCode::kPermissionDenied,
                       fmt::format("{}: another user listens there", path));
  }
  return fd;
}

Fd accept_unix(const Fd& listener) {
  Fd fd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (fd.get() >= 0 && !same_user(fd)) return Fd();
  return fd;
}

void limit_time(const Fd& connection, base::Nanos time) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time).count();
  const timeval limit = {.tv_sec = micros / 1'000'000, .tv_usec = micros % 1'000'000};
  setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

base::Result<> send_word(const Fd& connection, std::string_view word) {
  return send_message(connection, word, -1);
}

base::Result<std::string> receive_word(const Fd& connection) {
  base::Result<Message> message = receive_message(connection);
  if (!message) return message.error();
  return std::move(message->word);
}

base::Result<> send_listeners(const Fd& connection, std::span<const NamedListener> listeners) {
  for (const NamedListener& listener : listeners) {
    const base::Result<> sent =
        send_message(connection, fmt::format("{}{}", kListener, listener.name), listener.fd.get());
    if (!sent) return sent.error();
  }
  return send_word(connection, kEnd);
}

base::Result<std::vector<NamedListener>> receive_listeners(const Fd& connection) {
  std::vector<NamedListener> listeners;
  for (;;) {
    base::Result<Message> message = receive_message(connection);
    if (!message) return message.error();
    const std::string_view word = message->word;
    if (word == kEnd) return listeners;
    if (!word.starts_with(kListener) || !is_listening(message->fd) ||
        listeners.size() == kListenersMax) {
      return base::Error(base::ErrorCode::kProtocol, "what arrives is no listening socket");
    }
    listeners.push_back(
        {.name = std::string(word.substr(kListener.size())), .fd = std::move(message->fd)});
  }
}

base::Result<Fd> duplicate(int fd) {
  Fd copy(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (copy.get() < 0) return failed("duplicating a socket");
  return copy;
}

}  // namespace fairlead::net
