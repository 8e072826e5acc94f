// The rules of leading by a Lease object (coordination.k8s.io/v1). Pure: time is an argument.
//
// Clocks of different machines are never compared. A candidate looks at when it saw the record
// change by its own clock: one that stays as it is for the lease's whole duration has no leader any
// more. A leader counts from before it sent its last successful renewal, and stops `duration -
// renew_within` before anybody may take over, which is the room for clocks that run unequally fast.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "codec/json.h"

namespace fairlead::kube {

struct LeaseOptions {
  std::string space;
  std::string name;
  std::string identity;  // unique: host name and a random part
  base::Nanos duration = std::chrono::seconds(15);
  base::Nanos renew_within = std::chrono::seconds(10);  // shorter than `duration`
  base::Nanos retry = std::chrono::seconds(2);          // between tries, to take and to renew
};

struct LeaseRecord {
  std::string holder{};
  int64_t duration_seconds = 0;
  std::string acquired{};  // as it is written
  std::string renewed{};
  int64_t transitions = 0;

  bool operator==(const LeaseRecord&) const = default;
};

// Fields that are absent are empty.
LeaseRecord read_lease(const codec::Json& lease);
// `lease` with this record as its spec; all else, unknown fields of the spec included, stays.
codec::Json with_record(const codec::Json& lease, const LeaseRecord& record);

class LeaseView {
 public:
  explicit LeaseView(LeaseOptions options) : options_(std::move(options)) {}

  // The record was read.
  void saw(const LeaseRecord& record, base::TimePoint now);
  // Nobody holds it, or this process does, or its holder was not seen to renew it.
  bool may_take(base::TimePoint now) const;
  // What to write to take or to keep it.
  LeaseRecord next(base::WallTime wall) const;
  // What to write to give it up.
  LeaseRecord released(base::WallTime wall) const;

  const LeaseRecord& record() const { return record_; }
  bool held_by_us() const { return record_.holder == options_.identity; }

 private:
  LeaseOptions options_;
  LeaseRecord record_;
  base::TimePoint changed_at_{};
  bool seen_ = false;
};

}  // namespace fairlead::kube
