// Memory of coroutine frames: free lists by size class, one set a thread, so that a warmed-up
// request path does not reach malloc. Sanitizer builds use malloc, to see every use after free.
#pragma once

#include <cstddef>

namespace fairlead::rt {

void* frame_allocate(size_t size);
void frame_free(void* frame, size_t size) noexcept;

}  // namespace fairlead::rt
