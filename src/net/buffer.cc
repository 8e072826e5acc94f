#include "net/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

namespace fairlead::net {
namespace {

constexpr size_t kBlockBytes = 8 * 1024;
// A thread's, 4 MiB: what the requests of 256 connections take and return by turns. Each that is
// returned to the system costs two page faults when it is needed again, as much as a request.
[[maybe_unused]] constexpr size_t kFreeBlocksMax = 512;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FAIRLEAD_PLAIN_BLOCKS 1
#endif
#endif

#ifdef FAIRLEAD_PLAIN_BLOCKS

char* take_block() { return static_cast<char*>(std::malloc(kBlockBytes)); }
void return_block(char* block) { std::free(block); }

#else

struct FreeBlocks {
  std::array<char*, kFreeBlocksMax> blocks{};
  size_t count = 0;
  bool ended = false;  // the thread: what comes later goes straight to the system
  ~FreeBlocks() {
    while (count > 0) munmap(blocks[--count], kBlockBytes);
    ended = true;
  }
};
thread_local FreeBlocks free_blocks;

char* take_block() {
  if (free_blocks.count > 0) return free_blocks.blocks[--free_blocks.count];
  void* block =
      mmap(nullptr, kBlockBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(block != MAP_FAILED, "out of memory");
  return static_cast<char*>(block);
}

void return_block(char* block) {
  if (!free_blocks.ended && free_blocks.count < kFreeBlocksMax) {
    free_blocks.blocks[free_blocks.count++] = block;
  } else {
    munmap(block, kBlockBytes);
  }
}

#endif

}  // namespace

void Buffer::append(std::string_view bytes) {
  if (bytes.empty()) return;
  std::memcpy(room(bytes.size()).data(), bytes.data(), bytes.size());
  commit(bytes.size());
}

void Buffer::give_back() {
  if (capacity_ == kBlockBytes) {
    return_block(memory_);
  } else {
    std::free(memory_);
  }
}

void Buffer::make_room(size_t bytes) {
  const size_t used = size();
  if (capacity_ - used >= bytes) {
    std::memmove(memory_, memory_ + begin_, used);
  } else {
    const size_t grown = std::max({kBlockBytes, capacity_ * 2, used + bytes});
    char* memory = grown == kBlockBytes ? take_block() : static_cast<char*>(std::malloc(grown));
    CHECK(memory != nullptr, "out of memory");
    if (used > 0) std::memcpy(memory, memory_ + begin_, used);
    give_back();
    memory_ = memory;
    capacity_ = grown;
  }
  begin_ = 0;
  end_ = used;
}

}  // namespace fairlead::net
