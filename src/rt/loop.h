// Loop: one thread's event loop. Real: epoll, CLOCK_MONOTONIC, timers to the microsecond. Virtual:
// no descriptors; time stands still while anything can run and then jumps to the next timer, so
// that a whole system runs in one thread, faster than real time and the same on every run.
//
//   Loop loop;                                  ManualClock clock; Loop loop(clock);
//   loop.run();   // until stop()               loop.run_until_idle();
//
// Everything here belongs to the loop's thread except post() and stop(). What is scheduled runs in
// order; nothing runs inside another task.
#pragma once

#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "rt/scope.h"
#include "rt/task.h"
#include "rt/timer.h"

namespace fairlead::rt {

// Told of edge-triggered events (EPOLLIN, EPOLLOUT, EPOLLRDHUP, EPOLLERR, EPOLLHUP) of a
// descriptor.
class IoHandler {
 public:
  virtual void on_events(uint32_t events) = 0;

 protected:
  ~IoHandler() = default;
};

// Posts to a loop from any thread, also after the loop is gone: what is posted then is dropped.
class Mailbox {
 public:
  void post(std::function<void()> function);

 private:
  friend class Loop;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
  int wake_ = -1;  // eventfd of a real loop
  bool closed_ = false;
};

class Loop {
 public:
  Loop();
  explicit Loop(base::ManualClock& clock);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  bool is_virtual() const { return manual_clock_ != nullptr; }
  // The time at which this turn of the loop began (real), or virtual time.
  base::TimePoint now() const { return now_; }
  // The time to the nanosecond, for measuring within a turn.
  const base::Clock& clock() const { return *clock_; }

  void schedule(std::coroutine_handle<> handle) { ready_.push_back(handle); }
  // Runs `handle` once all that is ready in this turn has run.
  void schedule_last(std::coroutine_handle<> handle) { last_.push_back(handle); }
  TimerHeap& timers() { return timers_; }

  // Any thread: runs `function` on the loop, in posting order.
  void post(std::function<void()> function) { mailbox_->post(std::move(function)); }
  // For threads that may outlive the loop.
  std::shared_ptr<Mailbox> mailbox() const { return mailbox_; }

  // Real: until stop(). Virtual: until idle.
  void run();
  // Any thread. run() returns after the current turn.
  void stop();

  // Virtual: runs all that is due up to `until`, advancing time; returns when nothing is left to do
  // before that, and then stands at `until` (unless it is kNever).
  void run_until_idle(base::TimePoint until = base::kNever);

  // Runs until `task` ends and returns what it returned.
  template <class T>
  T block_on(Task<T> task);

  // Registers a non-blocking descriptor for all events, edge-triggered. unwatch() before closing
  // it; afterwards `handler` is not called any more.
  base::Result<> watch(int fd, IoHandler& handler);
  void unwatch(int fd, IoHandler& handler);

  // How long turns took and how many there were, for metrics.
  struct Stats {
    uint64_t turns = 0;
    base::Nanos busy{0};
  };
  const Stats& stats() const { return stats_; }

 private:
  struct Poller;
  bool turn(base::TimePoint until);
  void run_ready();
  bool has_ready() const { return !ready_.empty() || !last_.empty(); }
  void run_posted();
  void poll(base::TimePoint until);
  void hand_out(int events);  // of the poller's events

  base::SystemClock system_clock_;
  base::ManualClock* manual_clock_ = nullptr;
  const base::Clock* clock_;
  base::TimePoint now_;
  TimerHeap timers_;
  std::vector<std::coroutine_handle<>> ready_;
  std::vector<std::coroutine_handle<>> last_;
  std::vector<std::coroutine_handle<>> running_;
  std::unique_ptr<Poller> poller_;
  Stats stats_;
  bool stopping_ = false;
  std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
};

// co_await end_of_turn(loop): goes on once all that is ready in this turn has run. What many tasks
// do one after the other stays in the processor's caches, and wakes others once.
class [[nodiscard]] EndOfTurn {
 public:
  explicit EndOfTurn(Loop& loop) : loop_(loop) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) { loop_.schedule_last(handle); }
  void await_resume() const noexcept {}

 private:
  Loop& loop_;
};

inline EndOfTurn end_of_turn(Loop& loop) { return EndOfTurn(loop); }

namespace internal {

// The frame under a top-level task: owns it, runs it in `scope`, tells `done`.
class Root {
 public:
  struct promise_type : PromiseBase {
    Root get_return_object() {
      return Root{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    struct Ender {
      bool await_ready() noexcept { return true; }
      void await_suspend(std::coroutine_handle<>) noexcept {}
      void await_resume() noexcept {}
    };
    Ender final_suspend() noexcept { return {}; }
    void return_void() {}
  };
  std::coroutine_handle<promise_type> handle;
};

template <class T>
Root run_to(Task<T> task, std::optional<T>& result) {
  result.emplace(co_await std::move(task));
}

inline Root run_to_end(Task<void> task, bool& done) {
  co_await std::move(task);
  done = true;
}

}  // namespace internal

template <class T>
T Loop::block_on(Task<T> task) {
  Scope scope(*this);
  if constexpr (std::is_void_v<T>) {
    bool done = false;
    internal::Root root = internal::run_to_end(std::move(task), done);
    root.handle.promise().scope = &scope;
    schedule(root.handle);
    while (!done && turn(base::kNever)) {
    }
    CHECK(done, "block_on: the task waits for something that never comes");
  } else {
    std::optional<T> result;
    internal::Root root = internal::run_to(std::move(task), result);
    root.handle.promise().scope = &scope;
    schedule(root.handle);
    while (!result.has_value() && turn(base::kNever)) {
    }
    CHECK(result.has_value(), "block_on: the task waits for something that never comes");
    return std::move(*result);
  }
}

}  // namespace fairlead::rt
