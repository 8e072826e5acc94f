// What a cache tells its handlers. For each object a handler sees a legal story: added once,
// updated any number of times in order, deleted once; what it could not take in time is merged into
// one step (two updates into one from the first to the last). Pure.
//
//   DeliveryQueue queue;
//   queue.push({Change::kAdded, object, nullptr, ...});
//   while (auto next = queue.pop()) co_await handler.handle(*next);
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kube/object.h"

namespace fairlead::kube {

enum class Change : uint8_t { kAdded, kUpdated, kDeleted };

// Of a deletion: is `object` its last state, or, as the deletion itself was missed, the last one
// that was seen (a tombstone)?
enum class LastState : uint8_t { kKnown, kMissed };

struct Notification {
  Change change = Change::kAdded;
  ObjectPtr object;            // as it is now; of a deletion, as it was at last
  ObjectPtr before = nullptr;  // of an update: as this handler saw it
  LastState last_state = LastState::kKnown;
};

// What one handler has not seen yet, in order. Holds at most two steps an object (a deletion and
// the addition of another one of its name), however slow the handler is.
class DeliveryQueue {
 public:
  void push(Notification next);
  std::optional<Notification> pop();
  size_t size() const { return steps_.size(); }

 private:
  using Steps = std::list<Notification>;
  // Where in the queue an object's steps are, oldest first.
  struct Waiting {
    std::vector<Steps::iterator> steps;
  };

  Steps steps_;
  std::unordered_map<std::string, Waiting> by_key_;
};

}  // namespace fairlead::kube
