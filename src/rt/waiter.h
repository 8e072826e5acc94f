// Waiter: one suspended operation. It lives in the frame of the waiting task, linked into what it
// waits for (a WaitList), into its scope (to be cancelled) and, with a deadline, into the timers.
// Whichever comes first takes it out of the others and schedules the task.
//
// WaitList: those who wait for one thing. `co_await list.wait(deadline)` suspends until
// notify_one() or notify_all(). It is a condition variable without a lock: check the condition
// again afterwards.
#pragma once

#include <coroutine>
#include <cstdint>

#include "base/clock.h"
#include "rt/intrusive_list.h"
#include "rt/scope.h"
#include "rt/timer.h"

namespace fairlead::rt {

enum class WaitStatus : uint8_t { kReady, kCancelled, kTimedOut };

struct SourceLink : ListNode {};
struct WaitLink : ListNode {};

class Waiter : public SourceLink, private WaitLink, private TimerNode {
 public:
  enum class Cancellable : bool { kNo, kYes };

  Waiter() = default;
  ~Waiter() override = default;

  // Suspends `handle`; false if the scope is cancelled already and the task should go on at once.
  bool suspend(std::coroutine_handle<> handle, Scope& scope, base::TimePoint deadline,
               Cancellable cancellable = Cancellable::kYes);
  // Completes with kReady.
  void fire() { complete(WaitStatus::kReady); }
  WaitStatus status() const { return status_; }

 private:
  friend class Scope;
  void on_timer() override { complete(WaitStatus::kTimedOut); }
  void complete(WaitStatus status);

  std::coroutine_handle<> handle_;
  Scope* scope_ = nullptr;
  WaitStatus status_ = WaitStatus::kReady;
};

class WaitList {
 public:
  class [[nodiscard]] Awaiter {
   public:
    Awaiter(WaitList& list, base::TimePoint deadline, Waiter::Cancellable cancellable)
        : list_(list), deadline_(deadline), cancellable_(cancellable) {}
    bool await_ready() const noexcept { return false; }
    template <class P>
    bool await_suspend(std::coroutine_handle<P> handle) {
      if (!waiter_.suspend(handle, *handle.promise().scope, deadline_, cancellable_)) return false;
      list_.waiters_.push_back(waiter_);
      return true;
    }
    WaitStatus await_resume() const noexcept { return waiter_.status(); }

   private:
    WaitList& list_;
    base::TimePoint deadline_;
    Waiter::Cancellable cancellable_;
    Waiter waiter_;
  };

  Awaiter wait(base::TimePoint deadline = base::kNever,
               Waiter::Cancellable cancellable = Waiter::Cancellable::kYes) {
    return Awaiter(*this, deadline, cancellable);
  }
  bool empty() const { return waiters_.empty(); }
  // False if nobody waits.
  bool notify_one();
  void notify_all();

 private:
  List<Waiter, SourceLink> waiters_;
};

// co_await sleep_until(t): kTimedOut when the time has come, kCancelled before.
class [[nodiscard]] SleepAwaiter {
 public:
  explicit SleepAwaiter(base::TimePoint at) : at_(at) {}
  bool await_ready() const noexcept { return false; }
  template <class P>
  bool await_suspend(std::coroutine_handle<P> handle) {
    return waiter_.suspend(handle, *handle.promise().scope, at_);
  }
  WaitStatus await_resume() const noexcept { return waiter_.status(); }

 private:
  base::TimePoint at_;
  Waiter waiter_;
};

inline SleepAwaiter sleep_until(base::TimePoint at) { return SleepAwaiter(at); }

// co_await current_scope(): the Scope& the calling task runs in.
struct CurrentScope {
  Scope* scope = nullptr;
  bool await_ready() const noexcept { return false; }
  template <class P>
  bool await_suspend(std::coroutine_handle<P> handle) noexcept {
    scope = handle.promise().scope;
    return false;
  }
  Scope& await_resume() const noexcept { return *scope; }
};
inline CurrentScope current_scope() { return {}; }

}  // namespace fairlead::rt
