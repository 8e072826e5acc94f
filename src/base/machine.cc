#include "base/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <optional>

namespace fairlead::base {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// The first one or two numbers of a file; "max" counts as absent.
std::optional<int64_t> read_numbers(const char* path, int64_t* second = nullptr) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path, "re"));
  if (file == nullptr) return std::nullopt;
  int64_t first = 0;
  int64_t other = 0;
  const int n = std::fscanf(file.get(), "%" SCNd64 " %" SCNd64, &first, &other);
  if (second != nullptr) *second = other;
  return n >= (second != nullptr ? 2 : 1) ? std::optional(first) : std::nullopt;
}

std::optional<double> cpu_quota() {
  int64_t period = 0;
  std::optional<int64_t> quota = read_numbers("/sys/fs/cgroup/cpu.max", &period);
  if (!quota) {
    quota = read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    period = read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_period_us").value_or(0);
  }
  if (!quota || *quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(period);
}

}  // namespace

uint32_t usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  double cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  if (const auto quota = cpu_quota()) cpus = std::min(cpus, *quota);
  const auto whole = static_cast<uint32_t>(cpus);
  return std::max(1U, static_cast<double>(whole) < cpus ? whole + 1 : whole);
}

Bytes memory_limit() {
  const auto pages = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES));
  uint64_t limit = pages * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    const auto bytes = read_numbers(path);
    if (bytes && *bytes > 0) limit = std::min(limit, static_cast<uint64_t>(*bytes));
  }
  return Bytes(limit);
}

}  // namespace fairlead::base
