// The one non-cryptographic hash: 64 bits of XXH3 (xxhash 0.8). Stable across machines and
// releases, so hashes may be sent and stored. For chained block hashes pass the parent as seed.
#pragma once

#include <cstdint>
#include <string_view>

namespace fairlead::base {

uint64_t hash64(std::string_view bytes, uint64_t seed = 0);

// Mixes a 64-bit word (the finalizer of splitmix64); a bijection.
constexpr uint64_t mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace fairlead::base
