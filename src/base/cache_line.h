// Memory that one thread writes and others do not wait for: two threads that write to one cache
// line take it from each other at every write, whatever they write there.
//
//   struct alignas(base::kCacheLine) OfAShard { ... };
//   base::LineArray<std::atomic<int64_t>> heard(slots);   // no line of it holds anything else
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace fairlead::base {

// 64 bytes wherever we run; std::hardware_destructive_interference_size depends on compiler flags.
inline constexpr size_t kCacheLine = 64;

// A fixed number of value-initialized items, on whole cache lines of their own.
template <class T>
class LineArray {
 public:
  explicit LineArray(size_t count) : items_(allocate(count), Free{count}) {
    std::uninitialized_value_construct_n(items_.get(), count);
  }

  T& operator[](size_t i) { return items_.get()[i]; }
  const T& operator[](size_t i) const { return items_.get()[i]; }
  size_t size() const { return items_.get_deleter().count; }

 private:
  struct Free {
    size_t count;
    void operator()(T* items) const {
      std::destroy_n(items, count);
      ::operator delete(static_cast<void*>(items), std::align_val_t(kCacheLine));
    }
  };
  static T* allocate(size_t count) {
    static_assert(alignof(T) <= kCacheLine);
    const size_t bytes = (count * sizeof(T) + kCacheLine - 1) / kCacheLine * kCacheLine;
    return static_cast<T*>(::operator new(bytes, std::align_val_t(kCacheLine)));
  }

  std::unique_ptr<T, Free> items_;
};

}  // namespace fairlead::base
