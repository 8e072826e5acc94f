// ByteRing: whole records of bytes from one thread to another. Bounded: a record that does not fit
// is dropped and counted, so a slow reader slows no writer. One writer, one reader; no lock.
//
//   ring.append(line);       // the writing thread
//   ring.drain(batch);       // the reading thread
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead::obs {

class ByteRing {
 public:
  explicit ByteRing(size_t size);

  // Whether the ring is by this record more than half full: time to drain it.
  bool append(std::string_view record);
  // Moves whole records to the end of `batch`, in order.
  void drain(std::string& batch);
  // Any thread.
  bool half_full() const {
    const uint64_t read = read_.load(std::memory_order_relaxed);
    return written_.load(std::memory_order_relaxed) > read + bytes_.size() / 2;
  }
  // Records that did not fit. Any thread.
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  // Positions only grow; a position's place is its remainder.
  std::vector<char> bytes_;
  alignas(64) std::atomic<uint64_t> written_{0};
  std::atomic<uint64_t> dropped_{0};
  alignas(64) std::atomic<uint64_t> read_{0};
};

}  // namespace fairlead::obs
