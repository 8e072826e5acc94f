#include "rt/frame_pool.h"

#include <array>
#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FAIRLEAD_PLAIN_FRAMES 1
#endif
#endif

namespace fairlead::rt {

#ifdef FAIRLEAD_PLAIN_FRAMES

void* frame_allocate(size_t size) { return ::operator new(size); }
void frame_free(void* frame, size_t) noexcept { ::operator delete(frame); }

#else

namespace {

constexpr size_t kClassBytes = 64;
constexpr size_t kClasses = 64;  // frames up to 4 KiB are pooled
constexpr size_t kFreeFramesMax = 1024;

struct FreeFrame {
  FreeFrame* next;
};

struct SizeClass {
  FreeFrame* free = nullptr;
  size_t count = 0;
};

struct Pool {
  std::array<SizeClass, kClasses> classes;
  ~Pool() {
    for (SizeClass& c : classes) {
      while (c.free != nullptr) {
        FreeFrame* next = c.free->next;
        ::operator delete(c.free);
        c.free = next;
      }
      c.count = kFreeFramesMax;  // frames freed after this thread's end go straight to the heap
    }
  }
};

Pool& pool() {
  thread_local Pool instance;
  return instance;
}

}  // namespace

void* frame_allocate(size_t size) {
  const size_t index = (size + kClassBytes - 1) / kClassBytes;
  if (index >= kClasses) return ::operator new(size);
  SizeClass& c = pool().classes[index];
  if (c.free == nullptr) return ::operator new(index* kClassBytes);
  FreeFrame* frame = c.free;
  c.free = frame->next;
  --c.count;
  return frame;
}

void frame_free(void* frame, size_t size) noexcept {
  const size_t index = (size + kClassBytes - 1) / kClassBytes;
  if (index < kClasses) {
    SizeClass& c = pool().classes[index];
    if (c.count < kFreeFramesMax) {
      c.free = new (frame) FreeFrame{c.free};
      ++c.count;
      return;
    }
  }
  ::operator delete(frame);
}

#endif

}  // namespace fairlead::rt
