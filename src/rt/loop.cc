#include "rt/loop.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace fairlead::rt {

namespace {
constexpr int kEventsMax = 256;
// In a turn, full batches of events that are handed out before timers fire: as many descriptors as
// a loop has may be ready when it was held up, and their deadlines have passed.
constexpr int kBatchesMax = 64;
// Timers shall fire to the microsecond: Linux may be late by this much.
constexpr unsigned long kTimerSlackNanos = 1000;
}  // namespace

struct Loop::Poller {
  int epoll = -1;
  int wake = -1;
  // The batch being handed out; unwatch() clears entries that are still to come.
  std::array<epoll_event, kEventsMax> events{};
  int event_count = 0;
  int event_next = 0;
};

Loop::Loop() : clock_(&system_clock_), now_(system_clock_.now()), poller_(new Poller) {
  poller_->epoll = epoll_create1(EPOLL_CLOEXEC);
  poller_->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  CHECK(poller_->epoll >= 0 && poller_->wake >= 0, "epoll and eventfd (too many open files?)");
  mailbox_->wake_ = poller_->wake;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  CHECK(epoll_ctl(poller_->epoll, EPOLL_CTL_ADD, poller_->wake, &event) == 0, "epoll_ctl");
}

Loop::Loop(base::ManualClock& clock) : manual_clock_(&clock), clock_(&clock), now_(clock.now()) {}

Loop::~Loop() {
  {
    const std::lock_guard lock(mailbox_->mutex_);
    mailbox_->closed_ = true;
    mailbox_->posted_.clear();
  }
  if (poller_ != nullptr) {
    close(poller_->epoll);
    close(poller_->wake);
  }
}

base::Result<> Loop::watch(int fd, IoHandler& handler) {
  CHECK(poller_ != nullptr, "a virtual loop has no descriptors");
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &handler;
  if (epoll_ctl(poller_->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
    return base::Error(base::ErrorCode::kInternal,
                       fmt::format("epoll_ctl: {}", std::strerror(errno)));
  }
  return {};
}

void Loop::unwatch(int fd, IoHandler& handler) {
  epoll_ctl(poller_->epoll, EPOLL_CTL_DEL, fd, nullptr);
  for (int i = poller_->event_next; i < poller_->event_count; ++i) {
    epoll_event& event = poller_->events[static_cast<size_t>(i)];
    if (event.data.ptr == &handler) event.events = 0;
  }
}

void Mailbox::post(std::function<void()> function) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  const bool first = posted_.empty();
  posted_.push_back(std::move(function));
  if (first && wake_ >= 0) {
    const uint64_t one = 1;
    // A full eventfd counter wakes the loop as well, so the result does not matter.
    [[maybe_unused]] const ssize_t n = write(wake_, &one, sizeof one);
  }
}

void Loop::stop() {
  post([this] { stopping_ = true; });
}

void Loop::run_posted() {
  std::vector<std::function<void()>> batch;
  {
    const std::lock_guard lock(mailbox_->mutex_);
    batch.swap(mailbox_->posted_);
  }
  for (auto& function : batch) function();
}

void Loop::run_ready() {
  for (std::vector<std::coroutine_handle<>>* queue : {&ready_, &last_}) {
    running_.swap(*queue);
    for (const std::coroutine_handle<> handle : running_) handle.resume();
    running_.clear();
  }
}

void Loop::poll(base::TimePoint until) {
  Poller& p = *poller_;
  timespec timeout{};
  timespec* wait = &timeout;
  const base::TimePoint next = std::min(until, timers_.next());
  if (has_ready()) {
    // Only look.
  } else if (next == base::kNever) {
    wait = nullptr;
  } else {
    const base::Nanos left = std::max(base::Nanos(0), next - clock_->now());
    timeout.tv_sec = left.count() / 1'000'000'000;
    timeout.tv_nsec = left.count() % 1'000'000'000;
  }
  for (int batches = 1;; ++batches) {
    const int n = epoll_pwait2(p.epoll, p.events.data(), kEventsMax, wait, nullptr);
    now_ = clock_->now();
    hand_out(n);
    if (n < kEventsMax || batches == kBatchesMax) return;
    timeout = {};
    wait = &timeout;
  }
}

void Loop::hand_out(int events) {
  Poller& p = *poller_;
  p.event_count = std::max(events, 0);
  for (p.event_next = 0; p.event_next < p.event_count;) {
    const epoll_event event = p.events[static_cast<size_t>(p.event_next++)];
    if (event.events == 0) continue;
    if (event.data.ptr == nullptr) {
      uint64_t count = 0;
      [[maybe_unused]] const ssize_t r = read(p.wake, &count, sizeof count);
      run_posted();
    } else {
      static_cast<IoHandler*>(event.data.ptr)->on_events(event.events);
    }
  }
  p.event_count = 0;
}

bool Loop::turn(base::TimePoint until) {
  if (is_virtual()) {
    run_posted();
    if (!has_ready()) {
      const base::TimePoint next = timers_.next();
      if (next == base::kNever || next > until) return false;
      if (next > now_) {
        manual_clock_->advance_to(next);
        now_ = next;
      }
    }
    timers_.fire_until(now_);
    run_ready();
    ++stats_.turns;
    return true;
  }
  poll(until);
  timers_.fire_until(now_);
  run_ready();
  ++stats_.turns;
  return !stopping_;
}

void Loop::run() {
  if (is_virtual()) return run_until_idle();
  prctl(PR_SET_TIMERSLACK, kTimerSlackNanos);
  while (turn(base::kNever)) {
  }
  stopping_ = false;
}

void Loop::run_until_idle(base::TimePoint until) {
  CHECK(is_virtual(), "only virtual time ends");
  while (turn(until)) {
  }
  if (until != base::kNever && until > now_) {
    manual_clock_->advance_to(until);
    now_ = until;
  }
}

}  // namespace fairlead::rt
