// What the request path sees of the back ends, and what it tells of them.
//
// The control loop owns the back ends: it resolves, probes and scrapes them, decides their health
// and publishes a Snapshot, immutable, to every shard when their set or their models change. Health
// and load change all the time and lie in pick::Columns. Shards write what they hear into a Traffic
// of their own (one writer, read by the control loop) and post failures, which are rare.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/cache_line.h"
#include "base/clock.h"
#include "net/network.h"
#include "net/tls.h"
#include "pick/table.h"

namespace fairlead::router {

// One replica: one address. It keeps its slot while it exists.
struct Backend {
  pick::Slot slot = 0;
  net::Address address;
  std::string
      name;  // "host:port" as configured, or the address where a name has several: for people
  std::string host;                     // value of the Host field
  const net::TlsClient* tls = nullptr;  // for https://
  std::string tls_host;                 // whose certificate it must show
};

// A connection to the replica, its handshake done where it has TLS. `backend` outlives the task.
rt::Task<base::Result<std::unique_ptr<net::ByteStream>>> connect_to(net::Network& network,
                                                                    const Backend& backend,
                                                                    base::TimePoint deadline);

struct Snapshot {
  Snapshot(std::span<const pick::Table::Replica> replicas) : table(replicas) {}

  std::vector<std::shared_ptr<const Backend>> by_slot;  // nullptr: no replica has this slot
  pick::Table table;
  std::string models_json;  // the answer to GET /v1/models
  // Every back end has said which models it lists, or has had its time to: a model that is not in
  // the table does not exist.
  bool settled = false;
};

enum class FailureKind : uint8_t {
  kConnect,    // refused, unreachable or not connected in time
  kReset,      // the connection broke off before the first byte of the answer
  kProtocol,   // it does not speak HTTP/1.1
  kStatus,     // 5xx, or an error as its first event
  kBrokenOff,  // the connection broke off after the first byte
};

// What one shard hears of the replicas; written by that shard only.
class Traffic {
 public:
  explicit Traffic(uint32_t slots) : heard_(slots), answered_(slots) {}

  // Any byte of an answer, now.
  void heard(pick::Slot slot, base::TimePoint now) {
    heard_[slot].store(now.time_since_epoch().count(), std::memory_order_relaxed);
  }
  base::TimePoint last_heard(pick::Slot slot) const {
    return base::TimePoint(base::Nanos(heard_[slot].load(std::memory_order_relaxed)));
  }
  // A good answer has begun: what failures are weighed against.
  void answered(pick::Slot slot) {
    answered_[slot].store(answered_[slot].load(std::memory_order_relaxed) + 1,
                          std::memory_order_relaxed);
  }
  uint64_t answers(pick::Slot slot) const {
    return answered_[slot].load(std::memory_order_relaxed);
  }

 private:
  base::LineArray<std::atomic<int64_t>> heard_;
  base::LineArray<std::atomic<uint64_t>> answered_;
};

// How a shard reaches the control loop; any thread.
class FailureSink {
 public:
  virtual ~FailureSink() = default;
  // What the replica did; that a request ran out of time, or left it with its first byte still to
  // come, is no failure of this kind.
  virtual void report(pick::Slot slot, FailureKind kind) = 0;
};

// How the control loop reaches a shard; called on the control loop, carried out on the shard's.
class ShardControl {
 public:
  virtual ~ShardControl() = default;
  virtual void install(std::shared_ptr<const Snapshot> snapshot) = 0;
  // The replica is dead or silent: requests without a first byte leave it at once.
  virtual void evacuate(pick::Slot slot) = 0;
  virtual const Traffic& traffic() const = 0;
};

}  // namespace fairlead::router
