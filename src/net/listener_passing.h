// Passing listening sockets from one process to another over a unix socket. The socket that arrives
// is the one that was sent, with what is queued on it: as long as either process has it open, no
// connection is refused and none is lost.
//
// One message a socket ("listener NAME", with the descriptor), then "end"; SOCK_SEQPACKET, so that
// a message is a message. The peer must be a process of the same user. Everything here blocks, for
// a bounded time: for the start of a process and for threads of rt::run_blocking().
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/fd.h"

namespace fairlead::net {

struct NamedListener {
  std::string name;  // at most kNameBytesMax, without spaces
  Fd fd;
};
inline constexpr size_t kListenerNameBytesMax = 100;
inline constexpr size_t kListenersMax = 1024;

// A unix socket at `path` that only this user may connect to. It takes the place of one that is
// there, in one step.
base::Result<Fd> listen_unix(const std::string& path);
// kNotFound if nobody listens at `path`.
base::Result<Fd> connect_unix(const std::string& path);
// The next connection, or an Fd below 0 if none waits or it is another user's.
Fd accept_unix(const Fd& listener);
// How long each later send and receive may take.
void limit_time(const Fd& connection, base::Nanos time);

// One short message.
base::Result<> send_word(const Fd& connection, std::string_view word);
base::Result<std::string> receive_word(const Fd& connection);

base::Result<> send_listeners(const Fd& connection, std::span<const NamedListener> listeners);
base::Result<std::vector<NamedListener>> receive_listeners(const Fd& connection);

// The same socket once more.
base::Result<Fd> duplicate(int fd);

}  // namespace fairlead::net
