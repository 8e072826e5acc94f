// Admission: how a request waits for room at a replica where their number is bounded
// (--backend-requests-max): who waits where and whose turn it is are decided by WaitingLines; here
// are the lock, the way of a call to the loop of whoever waits, and the clock that looks again.
//
// One a process, shared by all shards. Without a bound, and while nobody waits, it costs a request
// one or two loads and no lock.
//
//   Admission::Place place(admission, {.loop = loop, .arrived = began, .bytes = body.size()});
//   if (const auto shed = place.enter("llama", slots)) ...       // turned away at once
//   while (co_await place.turn(deadline) == rt::WaitStatus::kReady) {
//     place.look();
//     if (pick()) break;                                          // or wait on where it stands
//   }                                                             // its end leaves the line
//   ...
//   admission.released(slot, loop);                               // when a reservation ends
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "router/waiting_lines.h"
#include "rt/loop.h"
#include "rt/task.h"
#include "rt/waiter.h"

namespace fairlead::router {

class Admission {
  struct Waiter;

 public:
  Admission(const WaitingBounds& bounds, pick::Columns& columns)
      : bounds_(bounds), lines_(bounds, columns) {}

  const WaitingBounds& bounds() const { return bounds_; }
  // A place at the replica has been given back; on the loop `here`.
  void released(pick::Slot slot, rt::Loop& here);
  // Which replicas serve which model has changed.
  void update(const pick::Table& table, rt::Loop& here);
  // Until cancelled: looks again every now and then, since replicas also become ready, or go, and
  // engines that share a replica give room back without a word.
  rt::Task<void> run(rt::Loop& here);

  uint32_t requests() const { return waiting_.load(std::memory_order_relaxed); }
  uint64_t bytes() const;
  std::chrono::seconds retry_after(base::TimePoint now) const;

  struct Arrival {
    rt::Loop& loop;  // of whoever waits
    base::TimePoint arrived;
    uint64_t bytes = 0;
  };
  // A place in line, as long as it lives. On its loop only.
  class Place {
   public:
    Place(Admission& admission, const Arrival& arrival);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    // Once.
    std::optional<Shed> enter(std::string_view model, std::span<const pick::Slot> slots);
    // kReady: it is its turn.
    rt::Task<rt::WaitStatus> turn(base::TimePoint deadline);
    // Before it looks for room: what is freed meanwhile calls it again.
    void look();
    // It found no room that is of use to it: perhaps there is for the one behind.
    void pass_on();

   private:
    Admission& admission_;
    std::shared_ptr<Waiter> waiter_;
    bool in_line_ = false;
  };

 private:
  void wake(WaitingLines::Entry* entry, rt::Loop& here);
  void call_all(rt::Loop& here);

  const WaitingBounds bounds_;
  mutable std::mutex mutex_;
  WaitingLines lines_;                // under the lock
  std::atomic<uint32_t> waiting_{0};  // lines_.requests(), to be read without it
};

}  // namespace fairlead::router
