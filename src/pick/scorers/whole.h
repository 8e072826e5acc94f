// The whole points of a score.
#pragma once

#include <cstdint>

namespace fairlead::pick {

// As std::floor for what is not negative and below 2^31, but no call: the compiler may not assume a
// processor that rounds in one instruction, and a weighted pick rounds thousands of times.
inline float whole(float score) { return static_cast<float>(static_cast<int32_t>(score)); }
inline double whole(double score) { return static_cast<double>(static_cast<int32_t>(score)); }

}  // namespace fairlead::pick
