#include "rt/scope.h"

#include <string>

#include "rt/loop.h"
#include "rt/waiter.h"

namespace fairlead::rt {

std::string_view to_string(CancelReason reason) {
  switch (reason) {
    case CancelReason::kNone:
      return "none";
    case CancelReason::kClientGone:
      return "client_gone";
    case CancelReason::kDeadline:
      return "deadline";
    case CancelReason::kShutdown:
      return "shutdown";
    case CancelReason::kSibling:
      return "sibling";
    case CancelReason::kReplicaDown:
      return "replica_down";
    case CancelReason::kLostLease:
      return "lost_lease";
  }
  return "none";
}

Scope::Scope(Scope& parent) : loop_(parent.loop_), reason_(parent.reason_) {
  parent.children_.push_back(*this);
}

Scope::~Scope() {
  CHECK(children_.empty(), "a scope ends after the scopes below it");
  CHECK(!waiters_.linked(), "a scope ends after all that waits in it");
}

void Scope::cancel(CancelReason reason) {
  if (cancelled()) return;
  reason_ = reason;
  disarm();
  while (waiters_.linked()) {
    static_cast<Waiter*>(static_cast<WaitLink*>(waiters_.next))->complete(WaitStatus::kCancelled);
  }
  children_.for_each([reason](Scope& child) { child.cancel(reason); });
}

void Scope::set_deadline(base::TimePoint at) {
  deadline_ = at;
  if (at < armed_at_ && !cancelled()) {
    armed_at_ = at;
    loop_.timers().arm(*this, at);
  }
}

void Scope::on_timer() {
  armed_at_ = base::kNever;
  if (deadline_ == base::kNever) return;
  if (deadline_ > loop_.now()) {
    set_deadline(deadline_);
  } else {
    cancel(CancelReason::kDeadline);
  }
}

base::Error Scope::error() const {
  switch (reason_) {
    case CancelReason::kDeadline:
      return base::Error(base::ErrorCode::kDeadlineExceeded, "deadline exceeded");
    case CancelReason::kReplicaDown:
      return base::Error(base::ErrorCode::kUnavailable, "replica down");
    default:
      return base::Error(base::ErrorCode::kCancelled, std::string(to_string(reason_)));
  }
}

bool Waiter::suspend(std::coroutine_handle<> handle, Scope& scope, base::TimePoint deadline,
                     Cancellable cancellable) {
  status_ = WaitStatus::kReady;
  if (cancellable == Cancellable::kYes) {
    if (scope.cancelled()) {
      status_ = WaitStatus::kCancelled;
      return false;
    }
    WaitLink& link = *this;
    link.previous = scope.waiters_.previous;
    link.next = &scope.waiters_;
    scope.waiters_.previous->next = &link;
    scope.waiters_.previous = &link;
  }
  handle_ = handle;
  scope_ = &scope;
  if (deadline != base::kNever) scope.loop().timers().arm(*this, deadline);
  return true;
}

void Waiter::complete(WaitStatus status) {
  SourceLink::unlink();
  WaitLink::unlink();
  disarm();
  status_ = status;
  scope_->loop().schedule(handle_);
}

bool WaitList::notify_one() {
  Waiter* waiter = waiters_.front();
  if (waiter == nullptr) return false;
  waiter->fire();
  return true;
}

void WaitList::notify_all() {
  while (notify_one()) {
  }
}

}  // namespace fairlead::rt
