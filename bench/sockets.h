// The few socket calls that relay_mock and relay_load share. Failures here end the program: they
// are mistakes of its caller (a port in use, nobody listening).
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace relay {

[[noreturn]] inline void die(std::string_view what) {
  fmt::print(stderr, "{}: {}\n", what, std::strerror(errno));
  std::exit(1);
}

inline int64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

inline sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Whether the peer connected to an address of 127.0.0.0/8.
inline bool came_to_loopback(int fd) {
  sockaddr_in local{};
  socklen_t size = sizeof local;
  getsockname(fd, reinterpret_cast<sockaddr*>(&local), &size);
  return ntohl(local.sin_addr.s_addr) >> 24 == 127;
}

inline void set_nodelay(int fd) {
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

inline void allow_many_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Waits until `due_ns` or for events; -1 is for ever.
inline int wait_until(int epoll, epoll_event* events, int capacity, int64_t due_ns) {
  const int64_t wait = due_ns < 0 ? 0 : std::max<int64_t>(due_ns - now_ns(), 0);
  const timespec timeout{.tv_sec = wait / 1'000'000'000, .tv_nsec = wait % 1'000'000'000};
  const int n = epoll_pwait2(epoll, events, capacity, due_ns < 0 ? nullptr : &timeout, nullptr);
  if (n < 0 && errno != EINTR) die("epoll");
  return n < 0 ? 0 : n;
}

// The value of a header in a head, without case; empty if absent. `name` is lower case.
inline std::string_view header(std::string_view head, std::string_view name) {
  size_t at = head.find("\r\n");
  while (at != std::string_view::npos && at + 2 < head.size()) {
    at += 2;
    const size_t end = head.find("\r\n", at);
    const auto line = head.substr(at, end - at);
    if (line.size() > name.size() && line[name.size()] == ':' &&
        strncasecmp(line.data(), name.data(), name.size()) == 0) {
      const auto value = line.substr(name.size() + 1);
      return value.substr(std::min(value.find_first_not_of(' '), value.size()));
    }
    at = end;
  }
  return "";
}

}  // namespace relay
