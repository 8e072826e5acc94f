#include "net/buffer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <deque>

namespace fairlead::net {
namespace {

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

TEST(Buffer, GrowsAndKeepsWhatIsThere) {
  Buffer buffer;
  buffer.append("head");
  buffer.consume(2);
  const size_t before = buffer.capacity();
  EXPECT_GE(buffer.room(3 * before).size(), 3 * before);
  EXPECT_EQ(buffer.data(), "ad");
  buffer.consume(2);
  buffer.release();
  EXPECT_EQ(buffer.capacity(), 0u);
}

// A router's requests take two blocks each and return them; with 64 kept, each of 128 connections
// had the system map its blocks anew for every request.
TEST(Buffer, BlocksOfHundredsOfRequestsAreKeptForTheNext) {
  constexpr size_t kBuffers = 2 * 200;
  const auto take_and_return = [] {
    std::deque<Buffer> buffers(kBuffers);
    for (Buffer& buffer : buffers) buffer.append("x");
  };
  take_and_return();
  const long before = page_faults();
  take_and_return();
#if defined(__has_feature)
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)  // these use malloc
  EXPECT_LT(page_faults() - before, long{kBuffers} / 4);
#endif
#endif
  EXPECT_GE(page_faults(), before);
}

}  // namespace
}  // namespace fairlead::net
