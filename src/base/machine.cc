#include "base/machine.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <memory>

namespace fairlead::base {
namespace {

constexpr std::string_view kCgroups = "/sys/fs/cgroup";

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

std::string read_small_file(const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "re"));
  if (file == nullptr) return {};
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  return text;
}

// The number that a text begins with, and is taken from it with a blank behind.
std::optional<int64_t> take_number(std::string_view& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (!text.empty()) text.remove_prefix(1);
  return number;
}

std::vector<std::string> own_cgroup_folders(std::string_view controller) {
  return cgroup_folders(read_small_file("/proc/self/cgroup"), controller);
}

std::vector<double> cpu_quotas() {
  std::vector<double> quotas;
  for (const std::string& folder : own_cgroup_folders("cpu")) {
    std::optional<double> quota = parse_cpu_max(read_small_file(folder + "/cpu.max"));
    if (!quota) {
      quota = parse_cpu_max(read_small_file(folder + "/cpu.cfs_quota_us") + " " +
                            read_small_file(folder + "/cpu.cfs_period_us"));
    }
    if (quota) quotas.push_back(*quota);
  }
  return quotas;
}

}  // namespace

std::optional<double> parse_cpu_max(std::string_view text) {
  const std::optional<int64_t> quota = take_number(text);
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  const std::optional<int64_t> period = take_number(text);
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

uint32_t whole_cpus(uint32_t in_mask, std::span<const double> quotas) {
  double cpus = in_mask;
  for (const double quota : quotas) cpus = std::min(cpus, quota);
  return std::max(1U, static_cast<uint32_t>(std::ceil(cpus)));
}

// A line is ID:CONTROLLERS:PATH; without controllers it is that of v2. A container without a
// namespace of its own sees a path of the host that is not there: the top folder is its own, then.
std::vector<std::string> cgroup_folders(std::string_view proc_self_cgroup,
                                        std::string_view controller) {
  std::vector<std::string> folders;
  const auto add_all = [&folders](const std::string& top, std::string_view path) {
    while (path.size() > 1) {
      folders.push_back(top + std::string(path));
      path = path.substr(0, path.rfind('/'));
    }
    folders.push_back(top);
  };
  while (!proc_self_cgroup.empty()) {
    const std::string_view line = proc_self_cgroup.substr(0, proc_self_cgroup.find('\n'));
    proc_self_cgroup.remove_prefix(std::min(line.size() + 1, proc_self_cgroup.size()));
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos || !line.substr(second + 1).starts_with('/')) continue;
    const std::string_view path = line.substr(second + 1);
    std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty()) {
      add_all(std::string(kCgroups), path);
      continue;
    }
    while (!controllers.empty()) {
      const std::string_view one = controllers.substr(0, controllers.find(','));
      controllers.remove_prefix(std::min(one.size() + 1, controllers.size()));
      if (one == controller) add_all(std::string(kCgroups) + "/" + std::string(controller), path);
    }
  }
  if (folders.empty()) folders.emplace_back(kCgroups);
  return folders;
}

uint64_t raised(const FileLimits& limits, uint64_t wanted) {
  return std::max(limits.soft, std::min(limits.hard, wanted));
}

uint32_t usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool known = sched_getaffinity(0, sizeof set, &set) == 0;
  return whole_cpus(known ? static_cast<uint32_t>(CPU_COUNT(&set)) : 1, cpu_quotas());
}

Bytes memory_limit() {
  const auto pages = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES));
  uint64_t limit = pages * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
  for (const std::string& folder : own_cgroup_folders("memory")) {
    for (const char* file : {"/memory.max", "/memory.limit_in_bytes"}) {
      const std::string text = read_small_file(folder + file);
      std::string_view rest = text;
      const std::optional<int64_t> bytes = take_number(rest);
      if (bytes && *bytes > 0) limit = std::min(limit, static_cast<uint64_t>(*bytes));
    }
  }
  return Bytes(limit);
}

uint64_t raise_open_files(uint64_t wanted) {
  rlimit now{};
  if (getrlimit(RLIMIT_NOFILE, &now) != 0) return 0;
  rlimit asked = now;
  asked.rlim_cur = raised({.soft = now.rlim_cur, .hard = now.rlim_max}, wanted);
  return setrlimit(RLIMIT_NOFILE, &asked) == 0 ? asked.rlim_cur : now.rlim_cur;
}

}  // namespace fairlead::base
