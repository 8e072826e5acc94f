// How far a run of ordinary string bytes goes: the inner loop of every JSON string read or written,
// up to 64 bytes a step where SSE2 is at hand, else 8.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace fairlead::codec {

enum class RunOf {
  kText,   // stops at '"', '\' and control characters
  kAscii,  // stops at bytes above 0x7f as well
};

template <RunOf kind>
inline bool ends_run(unsigned char c) {
  return c == '"' || c == '\\' || c < 0x20 || (kind == RunOf::kAscii && c >= 0x80);
}

// The top bit of each byte of the word that ends the run; above the first such byte it may be
// wrong.
template <RunOf kind>
inline uint64_t run_ends(uint64_t word) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kTops = 0x8080808080808080;
  const uint64_t quote = word ^ (kOnes * '"');
  const uint64_t backslash = word ^ (kOnes * '\\');
  const uint64_t control = (word - kOnes * 0x20) & ~word;
  const uint64_t ends = control | ((quote - kOnes) & ~quote) | ((backslash - kOnes) & ~backslash);
  return (kind == RunOf::kAscii ? ends | word : ends) & kTops;
}

#if defined(__SSE2__)
// All ones in each of the 16 bytes that ends the run.
template <RunOf kind>
inline __m128i run_ends(__m128i bytes) {
  // As signed bytes everything above 0x7f is negative, hence below a space too.
  const __m128i control = kind == RunOf::kAscii
                              ? _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20))
                              : _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
  const __m128i quoted = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                      _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
  return _mm_or_si128(control, quoted);
}

template <RunOf kind>
inline __m128i run_ends_at(const char* p) {
  return run_ends<kind>(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
#endif

// The first byte in [p, end) that ends the run, or end.
template <RunOf kind>
inline const char* skip_run(const char* p, const char* end) {
#if defined(__SSE2__)
  // Keys are short: most end in the first 16 bytes. Prompts are long: four at a time from there on.
  if (end - p >= 16) {
    const int mask = _mm_movemask_epi8(run_ends_at<kind>(p));
    if (mask != 0) return p + __builtin_ctz(static_cast<unsigned>(mask));
    p += 16;
  }
  while (end - p >= 64) {
    const __m128i first = _mm_or_si128(run_ends_at<kind>(p), run_ends_at<kind>(p + 16));
    const __m128i last = _mm_or_si128(run_ends_at<kind>(p + 32), run_ends_at<kind>(p + 48));
    if (_mm_movemask_epi8(_mm_or_si128(first, last)) != 0) break;
    p += 64;
  }
  while (end - p >= 16) {
    const int mask = _mm_movemask_epi8(run_ends_at<kind>(p));
    if (mask != 0) return p + __builtin_ctz(static_cast<unsigned>(mask));
    p += 16;
  }
#endif
  static_assert(std::endian::native == std::endian::little);
  while (end - p >= 8) {
    uint64_t word = 0;
    std::memcpy(&word, p, 8);
    const uint64_t ends = run_ends<kind>(word);
    if (ends != 0) return p + std::countr_zero(ends) / 8;
    p += 8;
  }
  while (p != end && !ends_run<kind>(static_cast<unsigned char>(*p))) ++p;
  return p;
}

}  // namespace fairlead::codec
