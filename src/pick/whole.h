// The whole points of a score.
#pragma once

#include <cstdint>

namespace fairlead::pick {

// As std::floor for what is not negative and below 2^31, but no call: the compiler may not assume a
// processor that rounds in one instruction, and a weighted pick rounds thousands of times. What
// misses a whole number by its last bits only, because it was multiplied instead of divided, is it.
inline double whole(double score) {
  return static_cast<double>(static_cast<int32_t>(score + 1e-9));
}

}  // namespace fairlead::pick
