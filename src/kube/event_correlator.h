// What becomes of an event that a controller reports: a new Event object, one more count on an
// object that is there, or nothing. The same again is counted; more than `similar_max` events that
// differ in their message alone become one; an object that reports without end is cut down to a
// trickle. Pure; holds at most kEventsRemembered of each.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace fairlead::kube {

inline constexpr size_t kEventsRemembered = 4096;

// What an event is about.
struct EventSubject {
  std::string api_version;
  std::string kind;
  std::string space;
  std::string name;
  std::string uid;
};

enum class EventType : uint8_t { kNormal, kWarning };

struct Report {
  EventSubject subject;
  EventType type = EventType::kNormal;
  std::string reason;   // one word, as in "ScaledUp"
  std::string message;  // for people
};

struct CorrelatorOptions {
  size_t similar_max = 10;
  base::Nanos window = std::chrono::minutes(10);
  // Of one subject.
  double burst = 25;
  base::Nanos refill = std::chrono::minutes(5);  // for one more
};

struct EventDecision {
  enum class Act : uint8_t { kCreate, kCount, kDrop };
  Act act = Act::kDrop;
  std::string name;     // of the Event object
  std::string message;  // of a combined one with its prefix
  int64_t count = 0;
  base::WallTime first{};
};

class EventCorrelator {
 public:
  explicit EventCorrelator(CorrelatorOptions options) : options_(options) {}
  EventDecision decide(const Report& report, base::TimePoint now, base::WallTime wall);
  // The server has no such object any more: the next of its kind is created anew.
  void forget(const std::string& event_name);

 private:
  // A map that forgets what was used longest ago.
  template <class T>
  class Recent {
   public:
    T& at(const std::string& key);
    template <class Gone>
    void erase_if(Gone gone);

   private:
    std::list<std::pair<std::string, T>> entries_;  // used last first
    std::map<std::string, typename std::list<std::pair<std::string, T>>::iterator> by_key_;
  };
  struct Similar {
    base::TimePoint begun{};
    std::set<std::string> messages;
  };
  struct Known {
    std::string name;
    int64_t count = 0;
    base::WallTime first{};
  };
  struct Allowance {
    double tokens = -1;  // not begun
    base::TimePoint at{};
  };
  bool allowed(const Report& report, base::TimePoint now);

  CorrelatorOptions options_;
  Recent<Similar> similar_;
  Recent<Known> known_;
  Recent<Allowance> allowances_;
};

}  // namespace fairlead::kube
