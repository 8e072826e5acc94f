#include "kube/leader_election.h"

#include <utility>

#include "api/apps.h"
#include "kube/kind.h"
#include "rt/task_group.h"

namespace fairlead::kube {
namespace {

using base::ErrorCode;
using codec::Json;

constexpr std::chrono::seconds kGiveUpTime{2};

rt::Task<rt::WaitStatus> sleep(base::TimePoint until) { co_return co_await rt::sleep_until(until); }

Json new_lease(const LeaseOptions& options) {
  return Json::object({{"apiVersion", Json::string(api::Lease::kKind.api_version())},
                       {"kind", Json::string(std::string(api::Lease::kKind.kind))},
                       {"metadata", Json::object({{"name", Json::string(options.name)},
                                                  {"namespace", Json::string(options.space)}})}});
}

}  // namespace

LeaderElection::LeaderElection(Client& client, LeaseOptions options, uint64_t seed,
                               const obs::Gauge* shown)
    : client_(client),
      options_(options),
      random_(seed == 0 ? base::random_seed() : seed),
      shown_(shown),
      view_(std::move(options)) {
  CHECK(options_.renew_within < options_.duration && options_.retry < options_.renew_within,
        "a lease lasts longer than the time to renew it, and that longer than a retry");
}

// Up to a fifth longer, so that candidates do not go in step.
base::Nanos LeaderElection::pause() {
  return options_.retry + base::Nanos(static_cast<int64_t>(
                              random_.uniform() * static_cast<double>(options_.retry.count()) / 5));
}

rt::Task<base::Result<>> LeaderElection::read() {
  const base::Result<ObjectPtr> object =
      co_await client_.get({resource_of<api::Lease>(), options_.space, options_.name});
  if (!object && object.error().code() == ErrorCode::kNotFound) {
    lease_.reset();
    view_.saw({}, client_.loop().now());
    co_return base::Result<>();
  }
  if (!object) co_return object.error();
  base::Result<Json> tree = (*object)->tree();
  if (!tree) co_return tree.error();
  view_.saw(read_lease(*tree), client_.loop().now());
  lease_ = std::move(*tree);
  co_return base::Result<>();
}

rt::Task<base::Result<>> LeaderElection::write(LeaseRecord record) {
  const base::TimePoint sent = client_.loop().clock().now();
  const bool exists = lease_.has_value();
  std::string body = to_string(with_record(exists ? *lease_ : new_lease(options_), record));
  const Target target{resource_of<api::Lease>(), options_.space, exists ? options_.name : ""};
  base::Result<ObjectPtr> written = base::Error(ErrorCode::kInternal, "not written yet");
  if (exists) {
    written = co_await client_.update(target, std::move(body), {});
  } else {
    written = co_await client_.create(target, std::move(body), {});
  }
  if (!written) co_return written.error();
  base::Result<Json> tree = (*written)->tree();
  if (!tree) co_return tree.error();
  view_.saw(read_lease(*tree), client_.loop().now());
  lease_ = std::move(*tree);
  if (view_.held_by_us()) valid_until_ = base::after(sent, options_.renew_within);
  co_return base::Result<>();
}

rt::Task<bool> LeaderElection::hold() {
  // What this process wrote last is most likely still so; a conflict says when it is not.
  if (!lease_ || !view_.held_by_us()) {
    const base::Result<> done = co_await read();
    if (!done) {
      last_error_ = done.error();
      co_return false;
    }
  }
  if (!view_.may_take(client_.loop().now())) co_return false;
  const base::Result<> written = co_await write(view_.next(client_.loop().clock().wall()));
  if (written) {
    last_error_.reset();
    co_return true;
  }
  last_error_ = written.error();
  const ErrorCode code = written.error().code();
  if (code == ErrorCode::kConflict || code == ErrorCode::kAlreadyExists ||
      code == ErrorCode::kNotFound) {
    static_cast<void>(co_await read());
  }
  co_return false;
}

rt::Task<void> LeaderElection::renew(rt::Scope& term) {
  rt::Scope& scope = co_await rt::current_scope();
  while (!scope.cancelled()) {
    // In a scope with the deadline: a renewal that hangs is as good as none.
    rt::Scope attempt(scope);
    attempt.set_deadline(valid_until_);
    const base::TimePoint at = base::after(client_.loop().now(), options_.retry);
    const rt::WaitStatus waited = co_await sleep(at).in(attempt);
    bool held = false;
    if (waited == rt::WaitStatus::kTimedOut) held = co_await hold().in(attempt);
    if (held) continue;
    const bool lost = !view_.held_by_us() || !leads(client_.loop().clock().now());
    if (lost && !scope.cancelled()) {
      valid_until_ = base::TimePoint::min();
      term.cancel(rt::CancelReason::kLostLease);
      co_return;
    }
  }
}

rt::Task<void> LeaderElection::lead_and_renew(LeaderWork& work) {
  rt::Scope& scope = co_await rt::current_scope();
  ++terms_;
  rt::TaskGroup renewing(scope);
  rt::Scope term(scope);
  renewing.spawn(renew(term));
  if (shown_ != nullptr) shown_->set(1);
  co_await work.lead().in(term);
  if (shown_ != nullptr) shown_->set(0);
  renewing.cancel(rt::CancelReason::kSibling);
  static_cast<void>(co_await renewing.join());
}

rt::Task<void> LeaderElection::give_up() {
  if (!lease_ || !view_.held_by_us() || !leads(client_.loop().clock().now())) co_return;
  valid_until_ = base::TimePoint::min();
  const base::Result<> written = co_await write(view_.released(client_.loop().clock().wall()));
  if (!written) last_error_ = written.error();
}

rt::Task<void> LeaderElection::run(LeaderWork& work) {
  rt::Scope& scope = co_await rt::current_scope();
  while (!scope.cancelled()) {
    const bool held = co_await hold();
    if (held) {
      co_await lead_and_renew(work);
      // Its own scope: this must go out though the process stops.
      rt::Scope last_words(client_.loop());
      last_words.set_deadline(base::after(client_.loop().now(), kGiveUpTime));
      co_await give_up().in(last_words);
    }
    if (!scope.cancelled()) co_await rt::sleep_until(base::after(client_.loop().now(), pause()));
  }
}

}  // namespace fairlead::kube
