#include "kube/lease.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kube/wire_time.h"

namespace fairlead::kube {
namespace {

using codec::Json;

std::string lease_text(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value == nullptr ? std::string() : value->as_string();
}

int64_t number_at(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value == nullptr ? 0 : value->as_int();
}

// `object` with these members, in its order; null takes one away.
Json with_members(const Json& object, std::vector<Json::Member> changed) {
  std::vector<Json::Member> members;
  for (const Json::Member& member : object.members()) {
    const auto same = std::ranges::find(changed, member.first, &Json::Member::first);
    if (same == changed.end()) members.push_back(member);
  }
  for (Json::Member& member : changed) {
    if (!member.second.is_null()) members.push_back(std::move(member));
  }
  return Json::object(std::move(members));
}

Json text_or_nothing(const std::string& text) { return text.empty() ? Json() : Json::string(text); }

}  // namespace

LeaseRecord read_lease(const Json& lease) {
  const Json* spec = lease.find("spec");
  if (spec == nullptr) return {};
  return {.holder = lease_text(*spec, "holderIdentity"),
          .duration_seconds = number_at(*spec, "leaseDurationSeconds"),
          .acquired = lease_text(*spec, "acquireTime"),
          .renewed = lease_text(*spec, "renewTime"),
          .transitions = number_at(*spec, "leaseTransitions")};
}

Json with_record(const Json& lease, const LeaseRecord& record) {
  static const Json nothing = Json::object({});
  const Json* spec = lease.find("spec");
  Json changed = with_members(spec == nullptr ? nothing : *spec,
                              {{"holderIdentity", text_or_nothing(record.holder)},
                               {"leaseDurationSeconds", Json::integer(record.duration_seconds)},
                               {"acquireTime", text_or_nothing(record.acquired)},
                               {"renewTime", text_or_nothing(record.renewed)},
                               {"leaseTransitions", Json::integer(record.transitions)}});
  return with_members(lease, {{"spec", std::move(changed)}});
}

void LeaseView::saw(const LeaseRecord& record, base::TimePoint now) {
  if (seen_ && record == record_) return;
  seen_ = true;
  record_ = record;
  changed_at_ = now;
}

bool LeaseView::may_take(base::TimePoint now) const {
  if (record_.holder.empty() || held_by_us()) return true;
  // As long as its holder said; a record of another configuration counts by its own length.
  const base::Nanos said =
      std::chrono::seconds(std::clamp<int64_t>(record_.duration_seconds, 0, 86'400));
  return now - changed_at_ >= std::max(said, options_.duration);
}

LeaseRecord LeaseView::next(base::WallTime wall) const {
  LeaseRecord next = record_;
  next.duration_seconds = std::chrono::ceil<std::chrono::seconds>(options_.duration).count();
  next.renewed = micro_time_text(wall);
  if (!held_by_us()) {
    next.holder = options_.identity;
    next.acquired = next.renewed;
    if (record_ != LeaseRecord{}) ++next.transitions;  // not the very first holder
  }
  return next;
}

LeaseRecord LeaseView::released(base::WallTime wall) const {
  LeaseRecord next = record_;
  next.holder.clear();
  next.duration_seconds = 1;
  next.renewed = micro_time_text(wall);
  next.acquired = next.renewed;
  return next;
}

}  // namespace fairlead::kube
