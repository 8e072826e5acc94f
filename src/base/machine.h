// What this process may use of the machine: affinity mask, cgroup limits (v1 and v2, of its own
// group and of all above it) and the number of open files. What is read from the system is decided
// on by pure functions, below.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace fairlead::base {

// CPUs by affinity mask and, rounded up, by cgroup quota; at least 1.
uint32_t usable_cpus();
// The least of physical memory and the cgroups' limits.
Bytes memory_limit();
// Raises the limit of open files as far as `wanted` and the hard limit go; returns what is in
// force.
uint64_t raise_open_files(uint64_t wanted);

// ---- pure ---------------------------------------------------------------------------------------

// "150000 100000" of cpu.max is 1.5 CPUs; nothing for "max ..." and for what is no quota.
std::optional<double> parse_cpu_max(std::string_view text);
// The least, rounded up; at least 1.
uint32_t whole_cpus(uint32_t in_mask, std::span<const double> quotas);
// The folders that may hold a process's limits, its own first, from what its /proc/self/cgroup
// says; of v1 those of `controller`.
std::vector<std::string> cgroup_folders(std::string_view proc_self_cgroup,
                                        std::string_view controller);
struct FileLimits {
  uint64_t soft = 0;
  uint64_t hard = 0;
};
// The soft limit to ask for.
uint64_t raised(const FileLimits& limits, uint64_t wanted);

}  // namespace fairlead::base
