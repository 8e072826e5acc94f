// Buffer: contiguous bytes, appended at the end and consumed at the front, its memory reused. Views
// of data() hold until the next call that is not const.
//
// Memory comes in blocks of 8 KiB: each thread keeps some free ones and returns the others to the
// system at once, so that what a thousand streams needed while they began is not held while they
// idle. Larger buffers come from the heap.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/check.h"

namespace fairlead::net {

class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { give_back(); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::string_view data() const { return {memory_ + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }
  size_t size() const { return end_ - begin_; }
  size_t capacity() const { return capacity_; }

  // At least `bytes` of free room at the end; moves or grows what is there if need be.
  std::span<char> room(size_t bytes) {
    if (capacity_ - end_ < bytes) make_room(bytes);
    return {memory_ + end_, capacity_ - end_};
  }
  // `bytes` of the room were filled.
  void commit(size_t bytes) {
    DCHECK(bytes <= capacity_ - end_);
    end_ += bytes;
  }
  void append(std::string_view bytes);
  void consume(size_t bytes) {
    DCHECK(bytes <= size());
    begin_ += bytes;
    if (begin_ == end_) begin_ = end_ = 0;
  }
  void clear() { begin_ = end_ = 0; }
  // Gives the memory back; the buffer must be empty.
  void release() {
    DCHECK(empty());
    give_back();
    memory_ = nullptr;
    capacity_ = begin_ = end_ = 0;
  }

 private:
  void make_room(size_t bytes);
  void give_back();

  char* memory_ = nullptr;
  size_t capacity_ = 0;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace fairlead::net
