#include "kube/expectations.h"

namespace fairlead::kube {

Expectations::Expected& Expectations::of(std::string_view owner, base::TimePoint now) {
  Expected& expected = by_owner_[std::string(owner)];
  expected.since = now;
  return expected;
}

void Expectations::created(std::string_view owner, std::string_view name, base::TimePoint now) {
  of(owner, now).creations.emplace(name);
}

void Expectations::deleted(std::string_view owner, std::string_view uid, base::TimePoint now) {
  of(owner, now).deletions.emplace(uid);
}

void Expectations::saw(std::string_view owner, std::set<std::string, std::less<>> Expected::*set,
                       std::string_view what) {
  const auto found = by_owner_.find(owner);
  if (found == by_owner_.end()) return;
  std::set<std::string, std::less<>>& expected = found->second.*set;
  const auto seen = expected.find(what);
  if (seen != expected.end()) expected.erase(seen);
  if (found->second.creations.empty() && found->second.deletions.empty()) by_owner_.erase(found);
}

void Expectations::saw_created(std::string_view owner, std::string_view name) {
  saw(owner, &Expected::creations, name);
}

void Expectations::saw_deleted(std::string_view owner, std::string_view uid) {
  saw(owner, &Expected::deletions, uid);
}

void Expectations::forget(std::string_view owner) {
  const auto found = by_owner_.find(owner);
  if (found != by_owner_.end()) by_owner_.erase(found);
}

bool Expectations::met(std::string_view owner, base::TimePoint now) {
  const auto found = by_owner_.find(owner);
  if (found == by_owner_.end()) return true;
  if (now - found->second.since < kExpectationTime) return false;
  by_owner_.erase(found);
  return true;
}

}  // namespace fairlead::kube
