// What this process may use of the machine: affinity mask and cgroup (v1 and v2) limits included.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace fairlead::base {

// CPUs by affinity mask and, rounded up, by cgroup quota; at least 1.
uint32_t usable_cpus();
// The least of physical memory and the cgroup's limit.
Bytes memory_limit();

}  // namespace fairlead::base
