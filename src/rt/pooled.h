// Strings and lists that live about as long as a task: their memory comes from the free lists of
// coroutine frames (frame_pool.h), so that a warmed-up request path does not reach malloc. Made and
// freed on one loop.
//
//   PooledString head;
//   head.reserve(512);
//   base::append_decimal(head, length);
//   PooledVector<iovec> pieces;
#pragma once

#include <string>
#include <vector>

#include "rt/frame_pool.h"

namespace fairlead::rt {

template <class T>
struct FrameAllocator {
  using value_type = T;

  FrameAllocator() = default;
  template <class U>
  FrameAllocator(const FrameAllocator<U>&) noexcept {}  // NOLINT: allocators convert

  T* allocate(size_t count) { return static_cast<T*>(frame_allocate(count * sizeof(T))); }
  void deallocate(T* memory, size_t count) noexcept { frame_free(memory, count * sizeof(T)); }
  bool operator==(const FrameAllocator&) const = default;
};

using PooledString = std::basic_string<char, std::char_traits<char>, FrameAllocator<char>>;
template <class T>
using PooledVector = std::vector<T, FrameAllocator<T>>;

}  // namespace fairlead::rt
