// Three strengths of assertion, never on input:
//   CHECK(cond, "why")       aborts, on in every build: going on would corrupt state.
//   SOFT_CHECK(cond, "why")  logs once a site and counts, then goes on: wrong but survivable.
//   DCHECK(cond)             debug and sanitizer builds only.
// Thread safe.
#pragma once

#include <cstdint>

namespace fairlead::base {

[[noreturn]] void check_failed(const char* file, int line, const char* expr, const char* why);
void soft_check_failed(const char* file, int line, const char* expr, const char* why);
// How many SOFT_CHECKs have failed in this process; exported as a metric.
uint64_t soft_checks_failed();

}  // namespace fairlead::base

#define CHECK(cond, why)                                \
  (__builtin_expect(!!(cond), 1) ? static_cast<void>(0) \
                                 : ::fairlead::base::check_failed(__FILE__, __LINE__, #cond, why))

#define SOFT_CHECK(cond, why)    \
  (__builtin_expect(!!(cond), 1) \
       ? static_cast<void>(0)    \
       : ::fairlead::base::soft_check_failed(__FILE__, __LINE__, #cond, why))

#ifdef NDEBUG
#define DCHECK(cond) static_cast<void>(0)
#else
#define DCHECK(cond) CHECK(cond, "debug assertion")
#endif
