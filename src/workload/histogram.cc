#include "workload/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fairlead::workload {
namespace {

constexpr unsigned kSubBits = 7;
constexpr uint64_t kSub = 1U << kSubBits;
constexpr unsigned kValueBits = 46;  // 2^46 ns: 19.5 hours
constexpr uint64_t kValueMax = (uint64_t{1} << kValueBits) - 1;

// Values below 2 * kSub have a bucket of their own; above, the top kSubBits + 1 bits choose it.
size_t bucket_of(uint64_t value) {
  const unsigned width = static_cast<unsigned>(std::bit_width(value));
  const unsigned shift = width > kSubBits + 1 ? width - kSubBits - 1 : 0;
  return shift * kSub + (value >> shift);
}

uint64_t middle_of(size_t bucket) {
  if (bucket < 2 * kSub) return bucket;
  const unsigned shift = static_cast<unsigned>(bucket / kSub) - 1;
  const uint64_t low = (bucket - shift * kSub) << shift;
  return low + (uint64_t{1} << shift) / 2;
}

}  // namespace

Histogram::Histogram() : buckets_(bucket_of(kValueMax) + 1) {}

void Histogram::add(base::Nanos value) {
  const uint64_t ns =
      std::min(static_cast<uint64_t>(std::max<int64_t>(value.count(), 0)), kValueMax);
  ++buckets_[bucket_of(ns)];
  ++count_;
  sum_ns_ += static_cast<double>(ns);
  max_ = std::max(max_, base::Nanos(ns));
}

void Histogram::merge(const Histogram& other) {
  for (size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ns_ += other.sum_ns_;
  max_ = std::max(max_, other.max_);
}

base::Nanos Histogram::quantile(double q) const {
  if (count_ == 0) return base::Nanos(0);
  const double wanted = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count_));
  const uint64_t rank = std::max<uint64_t>(static_cast<uint64_t>(wanted), 1);
  uint64_t seen = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen >= rank) return std::min(base::Nanos(middle_of(i)), max_);
  }
  return max_;
}

base::Nanos Histogram::mean() const {
  if (count_ == 0) return base::Nanos(0);
  return base::Nanos(static_cast<int64_t>(sum_ns_ / static_cast<double>(count_)));
}

}  // namespace fairlead::workload
