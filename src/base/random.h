// Seeded randomness, passed in wherever a decision draws: xoshiro256** (Blackman and Vigna), seeded
// through splitmix64. The same seed gives the same draws on every machine. One thread.
#pragma once

#include <cstdint>

namespace fairlead::base {

class Random {
 public:
  explicit Random(uint64_t seed);

  uint64_t next();
  // Uniform in [0, bound), without modulo bias; bound > 0.
  uint64_t below(uint64_t bound);
  // Uniform in [0, 1).
  double uniform();
  // Exponential with the given mean; never infinite.
  double exponential(double mean);
  // Normal with mean 0 and deviation 1.
  double normal();
  // An independent stream: draws from it do not change this one's later draws but for this call.
  Random fork() { return Random(next()); }

 private:
  uint64_t state_[4];
};

// A seed from the operating system, for processes started without one.
uint64_t random_seed();

}  // namespace fairlead::base
