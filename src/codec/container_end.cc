#include "codec/container_end.h"

#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace fairlead::codec {
namespace {

constexpr ptrdiff_t kBlock = 64;
// Sets apart only the two kinds of brackets: '[' and '{', ']' and '}' become the same byte.
constexpr char kCurly = 0x20;

// What is known at a place of the text.
struct Walk {
  size_t depth = 0;
  bool in_string = false;
  bool escaped = false;  // the byte before was a backslash that counts

  // The bytes from p to stop; what is behind the last bracket, or nullptr.
  const char* take(const char* p, const char* stop) {
    while (p != stop) {
      if (take(*p++)) return p;
    }
    return nullptr;
  }

  // True for the last bracket.
  bool take(char c) {
    if (in_string) {
      const bool ends = c == '"' && !escaped;
      escaped = c == '\\' && !escaped;
      in_string = !ends;
      return false;
    }
    in_string = c == '"';
    const char curly = static_cast<char>(c | kCurly);
    if (curly == '{') ++depth;
    return curly == '}' && --depth == 0;
  }

  // The same for a block.
  const char* take_block(const char* p);
};

#if defined(__SSE2__)
// A bit for each byte of a block that equals `c`; bytes are or-ed with `with` before.
uint64_t equal(const char* p, char c, char with = 0) {
  uint64_t bits = 0;
  for (int i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
    const __m128i same = _mm_cmpeq_epi8(_mm_or_si128(bytes, _mm_set1_epi8(with)), _mm_set1_epi8(c));
    bits |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(same))} << (16 * i);
  }
  return bits;
}

const char* Walk::take_block(const char* p) {
  const uint64_t after_escape = escaped ? 1 : 0;
  uint64_t strings = equal(p, '"') & ~after_escape;
  uint64_t escapes = equal(p, '\\') & ~after_escape;
  escaped = false;
  while (escapes != 0) {
    const uint64_t first = escapes & -escapes;
    strings &= ~(first << 1);
    escapes &= ~(first | first << 1);
    escaped = first >> (kBlock - 1) != 0;
  }
  // Each bit becomes the parity of the quotes up to it: in a string or not.
  for (int by = 1; by < kBlock; by *= 2) strings ^= strings << by;
  if (in_string) strings = ~strings;
  in_string = strings >> (kBlock - 1) != 0;
  const uint64_t opening = equal(p, '{', kCurly) & ~strings;
  size_t closed = 0;
  for (uint64_t rest = equal(p, '}', kCurly) & ~strings; rest != 0; rest &= rest - 1) {
    const uint64_t before = opening & (rest & -rest) - 1;
    if (depth + static_cast<size_t>(std::popcount(before)) == ++closed) {
      return p + std::countr_zero(rest) + 1;
    }
  }
  depth += static_cast<size_t>(std::popcount(opening)) - closed;
  return nullptr;
}
#else
const char* Walk::take_block(const char* p) { return take(p, p + kBlock); }
#endif

}  // namespace

const char* container_end(const char* p, const char* end) {
  Walk walk;
  for (; end - p >= kBlock; p += kBlock) {
    if (const char* const ends = walk.take_block(p)) return ends;
  }
  return walk.take(p, end);
}

}  // namespace fairlead::codec
