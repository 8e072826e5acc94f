// Scope: what is cancelled together, and why.
//
// Every task runs in a scope. cancel(reason) wakes each operation that waits in the scope or in a
// scope below it; the operation returns WaitStatus::kCancelled (or an Error with kCancelled) as a
// value, and so does every later wait in that scope. Clean-up that must wait runs in a scope of its
// own. The first reason stays. One loop; a scope outlives all that runs in it.
//
//   Scope attempt(request_scope);
//   attempt.set_deadline(now + 1s);
//   auto head = co_await connection.read_head().in(attempt);
//   if (attempt.reason() == CancelReason::kDeadline) ...
#pragma once

#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "rt/intrusive_list.h"
#include "rt/timer.h"

namespace fairlead::rt {

class Loop;
class Waiter;

enum class CancelReason : uint8_t {
  kNone,
  kClientGone,   // whoever asked has left
  kDeadline,     // out of time
  kShutdown,     // the process drains
  kSibling,      // a task of the same group failed, or its result is no longer needed
  kReplicaDown,  // the other end is known to be dead or silent
  kLostLease,    // another process may lead now
};

std::string_view to_string(CancelReason reason);

struct ScopeLink : ListNode {};

class Scope : private ScopeLink, private TimerNode {
 public:
  explicit Scope(Loop& loop) : loop_(loop) {}
  explicit Scope(Scope& parent);
  ~Scope() override;

  Loop& loop() const { return loop_; }
  bool cancelled() const { return reason_ != CancelReason::kNone; }
  CancelReason reason() const { return reason_; }
  void cancel(CancelReason reason);

  // Cancels with kDeadline at `at`; replaces an earlier deadline. Moving it later costs one store:
  // the timer is armed again only when it fires early.
  void set_deadline(base::TimePoint at);

  // The error that a cancelled operation of this scope reports.
  base::Error error() const;

 private:
  template <class T, class Node>
  friend class List;
  friend class Waiter;
  void on_timer() override;

  Loop& loop_;
  CancelReason reason_ = CancelReason::kNone;
  base::TimePoint deadline_ = base::kNever;
  base::TimePoint armed_at_ = base::kNever;
  List<Scope, ScopeLink> children_;
  ListNode waiters_;
};

}  // namespace fairlead::rt
