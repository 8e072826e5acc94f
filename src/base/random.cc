#include "base/random.h"

#include <sys/random.h>

#include <bit>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "base/hash.h"

namespace fairlead::base {

Random::Random(uint64_t seed) : state_() {
  for (auto& word : state_) {
    word = mix64(seed);
    seed += 0x9e3779b97f4a7c15ULL;
  }
}

uint64_t Random::next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Random::below(uint64_t bound) {
  DCHECK(bound > 0);
  // Rejects the draws of the incomplete last interval.
  const uint64_t limit = (0 - bound) % bound;
  uint64_t draw = next();
  while (draw < limit) draw = next();
  return draw % bound;
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double Random::exponential(double mean) { return -mean * std::log1p(-uniform()); }

double Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

uint64_t random_seed() {
  uint64_t seed = 0;
  CHECK(getrandom(&seed, sizeof seed, 0) == static_cast<ssize_t>(sizeof seed), "getrandom");
  return seed;
}

}  // namespace fairlead::base
