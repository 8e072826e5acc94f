// Expectations: after a write the cache is stale, and who decides from it again would write twice.
// So a controller notes what it has asked for and looks again only once its cache has seen that.
//
//   expectations.created(owner, "web-0", now);           // before the POST
//   ...  if it failed: expectations.saw_created(owner, "web-0");
//   ...  in the informer's handler: saw_created(owner, name), saw_deleted(owner, uid)
//   if (!expectations.met(owner, now)) return;           // its key comes back with the event
//
// Creations are known by name and deletions by UID, so that seeing one twice, or before the answer
// to the write came, counts once. What is never seen is given up after `kExpectationTime`, as the
// cache may have missed a short life; a resync by then repairs what that leaves wrong. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace fairlead::kube {

inline constexpr std::chrono::minutes kExpectationTime{5};

class Expectations {
 public:
  void created(std::string_view owner, std::string_view name, base::TimePoint now);
  void deleted(std::string_view owner, std::string_view uid, base::TimePoint now);
  void saw_created(std::string_view owner, std::string_view name);
  void saw_deleted(std::string_view owner, std::string_view uid);
  // The owner itself is gone.
  void forget(std::string_view owner);

  bool met(std::string_view owner, base::TimePoint now);
  // Owners that wait for something.
  size_t owners() const { return by_owner_.size(); }

 private:
  struct Expected {
    std::set<std::string, std::less<>> creations;
    std::set<std::string, std::less<>> deletions;
    base::TimePoint since;  // of the last one
  };
  using ByOwner = std::map<std::string, Expected, std::less<>>;
  Expected& of(std::string_view owner, base::TimePoint now);
  void saw(std::string_view owner, std::set<std::string, std::less<>> Expected::*set,
           std::string_view what);

  ByOwner by_owner_;
};

}  // namespace fairlead::kube
