// Buffer: contiguous bytes, appended at the end and consumed at the front, its memory reused. Views
// of data() hold until the next call that is not const.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "base/check.h"

namespace fairlead::net {

class Buffer {
 public:
  std::string_view data() const { return {memory_.get() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }
  size_t size() const { return end_ - begin_; }
  size_t capacity() const { return capacity_; }

  // At least `bytes` of free room at the end; moves or grows what is there if need be.
  std::span<char> room(size_t bytes) {
    if (capacity_ - end_ < bytes) make_room(bytes);
    return {memory_.get() + end_, capacity_ - end_};
  }
  // `bytes` of the room were filled.
  void commit(size_t bytes) {
    DCHECK(bytes <= capacity_ - end_);
    end_ += bytes;
  }
  void append(std::string_view bytes) {
    std::memcpy(room(bytes.size()).data(), bytes.data(), bytes.size());
    commit(bytes.size());
  }
  void consume(size_t bytes) {
    DCHECK(bytes <= size());
    begin_ += bytes;
    if (begin_ == end_) begin_ = end_ = 0;
  }
  void clear() { begin_ = end_ = 0; }
  // Gives the memory back; the buffer must be empty.
  void release() {
    DCHECK(empty());
    memory_.reset();
    capacity_ = begin_ = end_ = 0;
  }

 private:
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };

  void make_room(size_t bytes) {
    const size_t used = size();
    if (capacity_ - used >= bytes) {
      std::memmove(memory_.get(), memory_.get() + begin_, used);
    } else {
      const size_t grown = std::max(capacity_ * 2, used + bytes);
      std::unique_ptr<char, Free> memory(static_cast<char*>(std::malloc(grown)));
      CHECK(memory != nullptr, "out of memory");
      if (used > 0) std::memcpy(memory.get(), memory_.get() + begin_, used);
      memory_ = std::move(memory);
      capacity_ = grown;
    }
    begin_ = 0;
    end_ = used;
  }

  std::unique_ptr<char, Free> memory_;
  size_t capacity_ = 0;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace fairlead::net
