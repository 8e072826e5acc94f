// TaskGroup: the only way to start work that runs beside its starter.
//
//   co_await with_group([&](TaskGroup& group) -> Task<void> { ... });   // or, in a class:
//   TaskGroup group_;  // declared after every member that its tasks touch
//   group_.spawn(serve(connection));
//   group_.cancel(CancelReason::kShutdown);
//   co_await group_.join();
//
// The group has a scope of its own below its parent's. A task that returns an error cancels its
// siblings (kSibling); join() waits for all of them, even in a cancelled scope, and returns the
// first error. The group must be empty when it is destroyed. One loop.
#pragma once

#include "base/result.h"
#include "rt/loop.h"
#include "rt/scope.h"
#include "rt/task.h"
#include "rt/waiter.h"

namespace fairlead::rt {

class TaskGroup {
 public:
  explicit TaskGroup(Scope& parent) : scope_(parent) {}
  explicit TaskGroup(Loop& loop) : scope_(loop) {}
  ~TaskGroup() { CHECK(running_ == 0, "a TaskGroup is joined before it ends"); }
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // The task starts in this or the next turn of the loop.
  void spawn(Task<void> task) { start(run(*this, std::move(task))); }
  void spawn(Task<base::Result<>> task) { start(run(*this, std::move(task))); }

  void cancel(CancelReason reason) { scope_.cancel(reason); }
  Scope& scope() { return scope_; }
  size_t running() const { return running_; }

  Task<base::Result<>> join() {
    while (running_ > 0) {
      co_await emptied_.wait(base::kNever, Waiter::Cancellable::kNo);
    }
    if (first_error_) co_return *first_error_;
    co_return base::Result<>();
  }

 private:
  static internal::Root run(TaskGroup& group, Task<void> task) {
    co_await std::move(task);
    group.ended();
  }
  static internal::Root run(TaskGroup& group, Task<base::Result<>> task) {
    const base::Result<> result = co_await std::move(task);
    if (!result && !group.first_error_) {
      group.first_error_ = result.error();
      group.cancel(CancelReason::kSibling);
    }
    group.ended();
  }
  void start(internal::Root root) {
    ++running_;
    root.handle.promise().scope = &scope_;
    scope_.loop().schedule(root.handle);
  }
  void ended() {
    if (--running_ == 0) emptied_.notify_all();
  }

  Scope scope_;
  size_t running_ = 0;
  std::optional<base::Error> first_error_;
  WaitList emptied_;
};

}  // namespace fairlead::rt
