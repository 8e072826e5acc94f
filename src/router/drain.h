// Drain: how a router stops without cutting anything off.
//
//   serving -> announced: /readyz says 503, requests are still taken, for --drain-delay, because
//              load balancers notice late
//           -> draining: nothing new is taken, idle connections close, answers say Connection:
//              close, what runs has --drain-timeout
//           -> ended
//
// It begins with SIGTERM, with POST /drain on the debug port (`fairlead drain`), or when another
// process has taken the listeners over; beginning again changes nothing. In a hand-over no new
// connection is taken from the first moment on, since the other process takes them, but connections
// that idle stay open for the delay: each has its next request answered, with Connection: close, so
// that no client sends one into a connection that closes under it.
//
// Lives on the control loop and outlives its run().
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "obs/log.h"
#include "router/shard.h"

namespace fairlead::router {

enum class DrainState : uint8_t { kServing, kAnnounced, kDraining };
std::string_view to_string(DrainState state);

struct DrainStatus {
  DrainState state = DrainState::kServing;
  uint64_t requests = 0;  // that have not been answered yet
  uint64_t process = 0;   // which process says so
};
// {"state":"announced","requests":12,"process":4711}
std::string to_json(const DrainStatus& status);
base::Result<DrainStatus> parse_drain_status(std::string_view json);

class Drain {
 public:
  using Shards = std::vector<std::unique_ptr<Shard>>;
  // All of them outlive it.
  Drain(rt::Loop& loop, SharedState& shared, const Shards& shards)
      : loop_(loop), shared_(shared), shards_(shards) {}

  enum class Listeners : uint8_t { kOwn, kHandedOver };
  // Once; again it has no effect. `why` is for the log.
  void begin(std::string_view why, Listeners listeners = Listeners::kOwn);
  bool begun() const { return state_ != DrainState::kServing; }
  DrainStatus status() const;
  // kCancelled, or it has begun.
  rt::Task<rt::WaitStatus> until_begun();

  // Waits for begin() and returns when every shard has ended, or at once when cancelled.
  rt::Task<void> run();

 private:
  rt::Task<void> until_ended(base::TimePoint deadline);
  bool all_ended() const;

  rt::Loop& loop_;
  SharedState& shared_;
  const Shards& shards_;
  DrainState state_ = DrainState::kServing;
  rt::WaitList begun_;
};

}  // namespace fairlead::router
