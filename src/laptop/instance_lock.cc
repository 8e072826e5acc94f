#include "laptop/instance_lock.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <utility>

namespace fairlead::laptop {
namespace {

// The process that listens on `address`; 0 if it cannot be asked.
pid_t holder(const sockaddr_un& address, socklen_t size) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return 0;
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    credentials.pid = 0;
  }
  close(fd);
  return credentials.pid;
}

}  // namespace

InstanceLock::InstanceLock(InstanceLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

InstanceLock::~InstanceLock() {
  if (fd_ >= 0) close(fd_);
}

base::Result<InstanceLock> InstanceLock::take(uint16_t port) {
  const std::string name = fmt::format("fairlead-up-{}", port);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // a leading zero: abstract
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());

  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
      listen(fd, 1) == 0) {
    return InstanceLock(fd);
  }
  const int why = errno;
  if (fd >= 0) close(fd);
  if (why != EADDRINUSE) {
    return base::Error(base::ErrorCode::kUnavailable,
                       fmt::format("cannot hold the lock {}: {}", name, std::strerror(why)));
  }
  const pid_t pid = holder(address, size);
  return base::Error(
      base::ErrorCode::kConflict,
      fmt::format("already running on port {}{}: end it with Ctrl-C there{}, or start a second one "
                  "with --port",
                  port, pid > 0 ? fmt::format(" as process {}", pid) : std::string(),
                  pid > 0 ? fmt::format(" or `kill {}`", pid) : std::string()));
}

}  // namespace fairlead::laptop
