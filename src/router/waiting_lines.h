// WaitingLines: requests that wait for room at a replica, and whose turn it is. Pure: what is in
// flight and which replicas serve is read from columns, time is an argument. One thread at a time
// (Admission has the lock).
//
// There is one line a model, in order of the requests' arrival at the router: a request that failed
// at one replica and waits again stands where it stood. Between lines too whoever came first has
// the turn, as far as the room that there is is of use to it: a line for a full replica does not
// hold up another for a free one. Room that a line waits for is left alone by requests that come
// later (pick::Columns::lines), so none is overtaken, on whatever shard it is.
//
// A call is a turn, not a place: who is called picks again and may find that the room is gone (to
// another line that shares the replica, or because a filter of the policy does not like it). It
// then waits on where it stands.
//
// Rejected: one queue a shard (a request would wait at one loop while another takes newer ones),
// handing the freed place itself over (the policy would have no choice: the holder of the prefix
// may become free a moment later for the one behind), one line for all models (a full model would
// hold up the others).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "pick/table.h"

namespace fairlead::router {

// Why a request is turned away.
enum class Shed : uint8_t {
  kRequests,  // the queue holds as many requests as it may, or
  kBytes,     // as many bytes of bodies
  kWait,      // it waited as long as it may
};
std::string_view to_string(Shed shed);

struct WaitingBounds {
  uint32_t in_flight_max = 0;  // at one replica
  uint32_t requests_max = 1024;
  base::Bytes bytes_max{256ULL << 20};
};

class WaitingLines {
  struct Line;
  using Order = std::pair<base::TimePoint, uint64_t>;  // arrival, then entry

 public:
  // One request; belongs to whoever waits, who has it leave() before it ends.
  class Entry {
   public:
    Entry(base::TimePoint arrived, uint64_t bytes) : arrived_(arrived), bytes_(bytes) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    // It is its turn.
    bool called() const { return called_; }

   private:
    friend class WaitingLines;
    base::TimePoint arrived_;
    uint64_t bytes_;
    Order order_{};
    Line* line_ = nullptr;
    bool called_ = false;
  };

  WaitingLines(const WaitingBounds& bounds, pick::Columns& columns)
      : bounds_(bounds), columns_(columns) {}
  ~WaitingLines();
  WaitingLines(const WaitingLines&) = delete;
  WaitingLines& operator=(const WaitingLines&) = delete;

  // Puts it in the model's line; `slots` are the replicas that serve the model. Or says why not.
  std::optional<Shed> enter(Entry& entry, std::string_view model,
                            std::span<const pick::Slot> slots);
  void leave(Entry& entry);
  // It looks for room now: what is freed from here on calls it again.
  void look(Entry& entry);

  // Calls whose turn it is: the first for whom there is room that nobody called before it has. Or,
  // where nobody serves a model any more, the first who waits for it, to find that out. nullptr:
  // nobody's turn.
  Entry* call_next();
  // The same among those who wait for this replica.
  Entry* call_next_at(pick::Slot slot);
  // The next in the same line, whether there is room or not: `entry` was called and has no use for
  // the room there is.
  Entry* call_behind(const Entry& entry);
  // Which replicas serve which model has changed.
  void update(const pick::Table& table);

  uint32_t requests() const { return requests_; }
  uint64_t bytes() const { return bytes_; }
  // What to tell a client that is turned away: as long as the first in line has waited, since that
  // is how fast the queue moves; a second to a minute.
  std::chrono::seconds retry_after(base::TimePoint now) const;

 private:
  struct Line {
    std::string_view model;
    std::vector<pick::Slot> slots;  // ascending
    std::map<Order, Entry*> entries;
    uint32_t called = 0;
  };
  using Lines = std::map<std::string, Line, std::less<>>;

  static Entry* first_uncalled(const Line& line);
  Entry* call_first(std::vector<std::pair<Order, Line*>>& hopeful);
  bool has_turn(const Line& line) const;
  void call(Entry& entry);
  void serve(Line& line, std::span<const pick::Slot> slots);

  WaitingBounds bounds_;
  pick::Columns& columns_;
  Lines lines_;
  uint32_t requests_ = 0;
  uint64_t bytes_ = 0;
  uint64_t entered_ = 0;
};

}  // namespace fairlead::router
