#include "router/handover.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/tcp.h"
#include "rt/blocking.h"

namespace fairlead::router {
namespace {

constexpr std::string_view kTakeOver = "take over 1";
constexpr std::string_view kTaking = "taking";
// For a message; and for a new process to read its configuration and start.
constexpr auto kMessageTime = std::chrono::seconds(5);
constexpr auto kStartTime = std::chrono::seconds(60);

uint64_t inode_of(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 ? about.st_ino : 0;
}

// The whole conversation, on a thread of its own.
base::Result<> hand_over(const net::Fd& connection, std::span<const net::NamedListener> listeners) {
  net::limit_time(connection, kMessageTime);
  const base::Result<std::string> asked = net::receive_word(connection);
  if (!asked) return asked.error();
  if (*asked != kTakeOver) {
    return base::Error(base::ErrorCode::kProtocol,
                       fmt::format("it says '{}', not '{}'", *asked, kTakeOver));
  }
  const base::Result<> sent = net::send_listeners(connection, listeners);
  if (!sent) return sent.error();
  net::limit_time(connection, kStartTime);
  const base::Result<std::string> taking = net::receive_word(connection);
  if (!taking) return taking.error().wrap("the new process did not start");
  if (*taking != kTaking) return base::Error(base::ErrorCode::kProtocol, "it says something else");
  return {};
}

}  // namespace

// ---- the new process ----------------------------------------------------------------------------

base::Result<TakenListeners> TakenListeners::ask(const std::string& path) {
  TakenListeners taken;
  if (path.empty()) return taken;
  base::Result<net::Fd> connection = net::connect_unix(path);
  if (!connection) {
    if (connection.error().code() == base::ErrorCode::kNotFound) return taken;
    return connection.error().wrap("--handover");
  }
  const auto failed = [&path](const base::Error& error) {
    return error.wrap(fmt::format("--handover: the router at {} does not hand over", path));
  };
  net::limit_time(*connection, kMessageTime);
  if (const base::Result<> asked = net::send_word(*connection, kTakeOver); !asked) {
    return failed(asked.error());
  }
  base::Result<std::vector<net::NamedListener>> listeners = net::receive_listeners(*connection);
  if (!listeners) return failed(listeners.error());
  taken.connection_ = std::move(*connection);
  taken.listeners_ = std::move(*listeners);
  return taken;
}

std::vector<net::Fd> TakenListeners::take(std::string_view name, const net::Address& address) {
  std::vector<net::Fd> found;
  for (net::NamedListener& candidate : listeners_) {
    if (candidate.name != name || candidate.fd.get() < 0) continue;
    base::Result<net::Address> bound = net::bound_address(candidate.fd);
    if (!bound) continue;
    if (address.port == 0) bound->port = 0;
    if (*bound == address) found.push_back(std::move(candidate.fd));
  }
  return found;
}

void TakenListeners::confirm() {
  if (!any()) return;
  // If the old process is gone there is nobody to tell.
  static_cast<void>(net::send_word(connection_, kTaking));
  connection_ = net::Fd();
  listeners_.clear();
}

// ---- the old process ----------------------------------------------------------------------------

HandoverServer::~HandoverServer() { close(); }

base::Result<> HandoverServer::add(std::string name, const net::Listener& listener) {
  base::Result<net::Fd> copy = net::duplicate(listener.descriptor());
  if (!copy) return copy.error();
  listeners_->push_back({.name = std::move(name), .fd = std::move(*copy)});
  return {};
}

base::Result<> HandoverServer::listen() {
  base::Result<net::Fd> listener = net::listen_unix(path_);
  if (!listener) return listener.error().wrap("--handover");
  listener_ = std::move(*listener);
  inode_ = inode_of(path_);
  return loop_.watch(listener_.get(), *this);
}

rt::Task<bool> HandoverServer::run() {
  for (;;) {
    net::Fd connection = net::accept_unix(listener_);
    if (connection.get() >= 0) {
      const bool taken = co_await serve(std::move(connection));
      if (taken) co_return true;
      continue;
    }
    if (co_await arrived_.wait() == rt::WaitStatus::kCancelled) co_return false;
  }
}

// What is posted back may come after the end of the loop: the thread shares what it needs.
rt::Task<bool> HandoverServer::serve(net::Fd connection) {
  auto shared = std::make_shared<net::Fd>(std::move(connection));
  log_.info("a new process asks for the listeners");
  std::optional<base::Result<>> done = co_await rt::run_blocking<base::Result<>>(
      [shared, listeners = listeners_] { return hand_over(*shared, *listeners); });
  if (!done) co_return false;
  if (!*done) {
    log_.warn("the listeners stay here", {{"error", done->error().describe()}});
    co_return false;
  }
  co_return true;
}

void HandoverServer::close() {
  if (listener_.get() >= 0) {
    loop_.unwatch(listener_.get(), *this);
    listener_ = net::Fd();
    if (inode_ != 0 && inode_of(path_) == inode_) unlink(path_.c_str());
  }
  listeners_ = std::make_shared<std::vector<net::NamedListener>>();
}

}  // namespace fairlead::router
