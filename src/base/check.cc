#include "base/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace fairlead::base {
namespace {
std::atomic<uint64_t> soft_failures{0};
}

void check_failed(const char* file, int line, const char* expr, const char* why) {
  std::fprintf(stderr, "fatal: %s:%d: CHECK(%s) failed: %s\n", file, line, expr, why);
  std::abort();
}

void soft_check_failed(const char* file, int line, const char* expr, const char* why) {
  constexpr uint64_t kLogged = 100;
  const uint64_t n = soft_failures.fetch_add(1, std::memory_order_relaxed);
  if (n < kLogged)
    std::fprintf(stderr, "bug: %s:%d: SOFT_CHECK(%s) failed: %s\n", file, line, expr, why);
}

uint64_t soft_checks_failed() { return soft_failures.load(std::memory_order_relaxed); }

}  // namespace fairlead::base
