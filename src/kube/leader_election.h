// LeaderElection: of several processes at most one does the work, by the rules of lease.h.
//
//   Client plain(network, access);
//   LeaderElection election(plain, {.space = "fairlead", .name = "controller", .identity = id});
//   Client writer(network, access, {}, &election);        // its writes stop with the lease
//   group.spawn(election.run(controllers));               // until its scope is cancelled
//
// While it leads, `lead()` runs in a scope that ends with kLostLease when the lease is lost, which
// cancels what is in flight; a client that was given the election as its guard refuses writes from
// the moment the lease may be another's, also in a process that was stopped and goes on. Then it
// stands for election again. Stopped in order, it gives the lease up, so that another leads at
// once. One loop.
#pragma once

#include "base/random.h"
#include "kube/client.h"
#include "kube/lease.h"
#include "rt/task.h"

namespace fairlead::kube {

class LeaderWork {
 public:
  // Ends soon after its scope is cancelled. Ending earlier gives the lease up.
  virtual rt::Task<void> lead() = 0;

 protected:
  ~LeaderWork() = default;
};

class LeaderElection final : public WriteGuard {
 public:
  // `client` has no guard and outlives the election, as does `shown` if there is one: 1 while it
  // leads.
  LeaderElection(Client& client, LeaseOptions options, uint64_t seed = 0,
                 const obs::Gauge* shown = nullptr);

  rt::Task<void> run(LeaderWork& work);

  bool leads(base::TimePoint now) const { return now < valid_until_; }
  bool may_write(base::TimePoint now) const override { return leads(now); }
  // Who holds the lease, as last seen; empty: nobody.
  const std::string& holder() const { return view_.record().holder; }
  uint64_t terms() const { return terms_; }
  const std::optional<base::Error>& last_error() const { return last_error_; }

 private:
  // Takes or renews the lease.
  rt::Task<bool> hold();
  rt::Task<base::Result<>> write(LeaseRecord record);
  rt::Task<base::Result<>> read();
  rt::Task<void> renew(rt::Scope& term);
  rt::Task<void> lead_and_renew(LeaderWork& work);
  rt::Task<void> give_up();
  base::Nanos pause();

  Client& client_;
  LeaseOptions options_;
  base::Random random_;
  const obs::Gauge* shown_;
  LeaseView view_;
  std::optional<codec::Json> lease_;  // as last read or written; nothing: does not exist
  base::TimePoint valid_until_ = base::TimePoint::min();
  uint64_t terms_ = 0;
  std::optional<base::Error> last_error_;
};

}  // namespace fairlead::kube
