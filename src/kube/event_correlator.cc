#include "kube/event_correlator.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace fairlead::kube {
namespace {

constexpr std::string_view kCombined = "(combined from similar events): ";

std::string subject_key(const EventSubject& s) {
  return fmt::format("{}|{}|{}|{}|{}", s.api_version, s.kind, s.space, s.name, s.uid);
}

}  // namespace

template <class T>
T& EventCorrelator::Recent<T>::at(const std::string& key) {
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->second;
  }
  if (entries_.size() >= kEventsRemembered) {
    by_key_.erase(entries_.back().first);
    entries_.pop_back();
  }
  entries_.emplace_front(key, T{});
  by_key_.emplace(key, entries_.begin());
  return entries_.front().second;
}

template <class T>
template <class Gone>
void EventCorrelator::Recent<T>::erase_if(Gone gone) {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (gone(entry->second)) {
      by_key_.erase(entry->first);
      entries_.erase(entry);
    }
    entry = next;
  }
}

bool EventCorrelator::allowed(const Report& report, base::TimePoint now) {
  Allowance& allowance = allowances_.at(subject_key(report.subject));
  if (allowance.tokens < 0) {
    allowance.tokens = options_.burst;
  } else {
    const double earned = base::to_seconds(now - allowance.at) / base::to_seconds(options_.refill);
    allowance.tokens = std::min(options_.burst, allowance.tokens + earned);
  }
  allowance.at = now;
  if (allowance.tokens < 1) return false;
  allowance.tokens -= 1;
  return true;
}

EventDecision EventCorrelator::decide(const Report& report, base::TimePoint now,
                                      base::WallTime wall) {
  if (!allowed(report, now)) return {};
  const std::string kind = fmt::format("{}|{}|{}", subject_key(report.subject),
                                       static_cast<int>(report.type), report.reason);
  Similar& similar = similar_.at(kind);
  if (similar.messages.empty() || now - similar.begun >= options_.window) {
    similar.messages.clear();
    similar.begun = now;
  }
  if (similar.messages.size() <= options_.similar_max) similar.messages.insert(report.message);
  const bool combined = similar.messages.size() > options_.similar_max;
  Known& known = known_.at(combined ? kind : fmt::format("{}|{}", kind, report.message));
  EventDecision decision;
  decision.act = known.count == 0 ? EventDecision::Act::kCreate : EventDecision::Act::kCount;
  if (known.count == 0) {
    known.name = fmt::format("{}.{:x}", report.subject.name,
                             static_cast<uint64_t>(wall.time_since_epoch().count()));
    known.first = wall;
  }
  decision.count = ++known.count;
  decision.name = known.name;
  decision.first = known.first;
  decision.message = combined ? fmt::format("{}{}", kCombined, report.message) : report.message;
  return decision;
}

void EventCorrelator::forget(const std::string& event_name) {
  known_.erase_if([&](const Known& known) { return known.name == event_name; });
}

}  // namespace fairlead::kube
