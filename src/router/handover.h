// Handing the listening sockets over to a new process: a restart without a gap.
//
// A router with --handover PATH listens at PATH, a unix socket. A new router with the same flag
// finds it there and asks; it is sent the sockets (net/listener_passing.h), starts, takes
// connections and says so; then the old one takes no more, has its connections end with their next
// answer, and stops as if it had been drained. Whatever fails on the way leaves the old one as it
// was: a new process with a wrong configuration costs nobody a request.
//
//   new -> old   "take over 1"
//   old -> new   listeners, end
//   new -> old   "taking"                     both accept until the old one has read this
//
// Sockets are told apart by name and address: one whose address the new configuration does not have
// is not taken, and closes with the old process.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/listener_passing.h"
#include "net/network.h"
#include "obs/log.h"
#include "rt/loop.h"
#include "rt/waiter.h"

namespace fairlead::router {

// The new process, at its start. Blocks.
class TakenListeners {
 public:
  // Nothing is taken where nobody listens at `path`, or it is empty.
  static base::Result<TakenListeners> ask(const std::string& path);

  // Those of this name that are bound to `address`, or to any port where its port is 0.
  std::vector<net::Fd> take(std::string_view name, const net::Address& address);
  bool any() const { return connection_.get() >= 0; }
  // The new process serves: the old one may stop.
  void confirm();

 private:
  net::Fd connection_;
  std::vector<net::NamedListener> listeners_;
};

// The old process, on its control loop.
class HandoverServer final : private rt::IoHandler {
 public:
  HandoverServer(rt::Loop& loop, std::string path, obs::Logger& log)
      : loop_(loop), path_(std::move(path)), log_(log) {}
  ~HandoverServer();
  HandoverServer(const HandoverServer&) = delete;
  HandoverServer& operator=(const HandoverServer&) = delete;

  // To be passed on; the server holds a copy, so that what it is of stays open.
  base::Result<> add(std::string name, const net::Listener& listener);
  base::Result<> listen();
  // Returns true when a new process has taken over, false when cancelled.
  rt::Task<bool> run();
  // Closes the copies: the listeners close with their owners from now on.
  void close();

 private:
  void on_events(uint32_t) override { arrived_.notify_all(); }
  rt::Task<bool> serve(net::Fd connection);

  rt::Loop& loop_;
  std::string path_;
  obs::Logger& log_;
  net::Fd listener_;
  uint64_t inode_ = 0;  // of the socket's file, to remove it only if it is still ours
  std::shared_ptr<std::vector<net::NamedListener>> listeners_ =
      std::make_shared<std::vector<net::NamedListener>>();
  rt::WaitList arrived_;
};

}  // namespace fairlead::router
