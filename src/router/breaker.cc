#include "router/breaker.h"

#include <algorithm>

namespace fairlead::router {

Answers& Answers::operator+=(const Answers& more) {
  good += more.good;
  bad += more.bad;
  broken += more.broken;
  return *this;
}

Answers Answers::operator-(const Answers& less) const {
  return {.good = good - less.good, .bad = bad - less.bad, .broken = broken - less.broken};
}

std::string_view to_string(BreakerState state) {
  switch (state) {
    case BreakerState::kClosed:
      return "closed";
    case BreakerState::kHalfOpen:
      return "half_open";
    case BreakerState::kOpen:
      return "open";
  }
  return "open";
}

std::string_view to_string(EjectReason reason) {
  switch (reason) {
    case EjectReason::kFailures:
      return "failures";
    case EjectReason::kErrorShare:
      return "error_share";
    case EjectReason::kOutlier:
      return "outlier";
    case EjectReason::kTrial:
      return "trial";
  }
  return "trial";
}

int64_t Breaker::slice_number(base::TimePoint now) const {
  return now.time_since_epoch() / std::max(options_.window / kSlices, base::Nanos(1));
}

Answers Breaker::recent(base::TimePoint now) const {
  const int64_t oldest = slice_number(now) - kSlices + 1;
  Answers sum;
  for (const Slice& slice : slices_) {
    if (slice.at >= oldest) sum += slice.answers;
  }
  return sum;
}

void Breaker::note(const Answers& answers, base::TimePoint now) {
  if (state_ == BreakerState::kOpen) {
    if (now < open_until_) return;
    state_ = BreakerState::kHalfOpen;
    trials_passed_ = 0;
    return;  // what has come until now was no trial
  }
  if (state_ == BreakerState::kHalfOpen) {
    if (answers.bad > 0) return open(EjectReason::kTrial, now);
    trials_passed_ += answers.good;
    if (trials_passed_ < kTrials) return;
    state_ = BreakerState::kClosed;
    closed_at_ = now;
    return forget();
  }
  if (answers.all() + answers.broken == 0) return;
  const int64_t at = slice_number(now);
  Slice& slice = slices_[static_cast<size_t>(at % kSlices)];
  if (slice.at != at) slice = {.at = at};
  slice.answers += answers;
  // One good answer among them is enough to say that they were not in a row.
  in_a_row_ = answers.good > 0 ? 0 : in_a_row_ + answers.bad;
  if (options_.failures_max > 0 && in_a_row_ >= options_.failures_max) {
    return open(EjectReason::kFailures, now);
  }
  const Answers all = recent(now);
  const double share_max = options_.error_share * static_cast<double>(all.all());
  if (answers.bad > 0 && all.bad >= kErrorsMin && static_cast<double>(all.bad) >= share_max) {
    open(EjectReason::kErrorShare, now);
  }
}

void Breaker::eject_outlier(base::TimePoint now) {
  if (state_ == BreakerState::kClosed) open(EjectReason::kOutlier, now);
}

void Breaker::restarted(base::TimePoint now) {
  if (state_ == BreakerState::kOpen) open_until_ = now;
  if (state_ == BreakerState::kClosed) forget();
}

void Breaker::open(EjectReason reason, base::TimePoint now) {
  const bool again = state_ == BreakerState::kHalfOpen ||
                     (open_for_ > base::Nanos(0) && now - closed_at_ < options_.window);
  const base::Nanos longest = std::max(options_.open_max, options_.open_min);
  open_for_ = again ? std::min(open_for_ * 2, longest) : options_.open_min;
  open_until_ = base::after(now, open_for_);
  state_ = BreakerState::kOpen;
  ++opened_[static_cast<size_t>(reason)];
  forget();
}

void Breaker::forget() {
  slices_.fill({});
  in_a_row_ = 0;
}

}  // namespace fairlead::router
