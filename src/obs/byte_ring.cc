#include "obs/byte_ring.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace fairlead::obs {

ByteRing::ByteRing(size_t size) : bytes_(size) { CHECK(size > 0, "a ring has room"); }

bool ByteRing::append(std::string_view record) {
  const uint64_t written = written_.load(std::memory_order_relaxed);
  const uint64_t held = written - read_.load(std::memory_order_acquire);
  if (record.size() > bytes_.size() - held) {
    dropped_.store(dropped() + 1, std::memory_order_relaxed);
    return false;
  }
  const size_t place = written % bytes_.size();
  const size_t first = std::min(record.size(), bytes_.size() - place);
  std::memcpy(bytes_.data() + place, record.data(), first);
  std::memcpy(bytes_.data(), record.data() + first, record.size() - first);
  written_.store(written + record.size(), std::memory_order_release);
  const size_t half = bytes_.size() / 2;
  return held <= half && held + record.size() > half;
}

void ByteRing::drain(std::string& batch) {
  const uint64_t read = read_.load(std::memory_order_relaxed);
  const size_t count = static_cast<size_t>(written_.load(std::memory_order_acquire) - read);
  const size_t place = read % bytes_.size();
  const size_t first = std::min(count, bytes_.size() - place);
  batch.append(bytes_.data() + place, first).append(bytes_.data(), count - first);
  read_.store(read + count, std::memory_order_release);
}

}  // namespace fairlead::obs
