#include "rt/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

namespace fairlead::rt {
namespace {

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

}  // namespace

void block_signals(std::initializer_list<int> signals) {
  const sigset_t set = set_of(signals);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Signals::Signals(Loop& loop, std::initializer_list<int> signals) : loop_(loop) {
  const sigset_t set = set_of(signals);
  fd_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  CHECK(fd_ >= 0, "signalfd");
  const auto watched = loop_.watch(fd_, *this);
  CHECK(watched.ok(), "signalfd can be watched");
}

Signals::~Signals() {
  loop_.unwatch(fd_, *this);
  close(fd_);
}

void Signals::on_events(uint32_t) { arrived_.notify_all(); }

Task<int> Signals::next() {
  for (;;) {
    signalfd_siginfo info{};
    if (read(fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      co_return static_cast<int>(info.ssi_signo);
    }
    const WaitStatus status = co_await arrived_.wait();
    if (status != WaitStatus::kReady) co_return 0;
  }
}

}  // namespace fairlead::rt
