#include "base/machine.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <array>
#include <limits>

namespace fairlead::base {
namespace {

using Folders = std::vector<std::string>;

TEST(CpuQuota, IsReadFromBothVersionsOfCgroups) {
  EXPECT_EQ(parse_cpu_max("150000 100000\n"), 1.5);
  EXPECT_EQ(parse_cpu_max("50000\n 100000\n"), 0.5) << "two files of v1";
  for (const char* text : {"max 100000\n", "-1\n 100000\n", "", " ", "0 100000", "100000",
                           "100000 0", "100000 max", "many", "99999999999999999999 100000"}) {
    EXPECT_EQ(parse_cpu_max(text), std::nullopt) << text;
  }
}

TEST(CpuQuota, RoundsUpAndNeverBelowOne) {
  const auto cpus = [](uint32_t mask, std::vector<double> quotas) {
    return whole_cpus(mask, quotas);
  };
  EXPECT_EQ(cpus(8, {}), 8u);
  EXPECT_EQ(cpus(8, {1.5}), 2u);
  EXPECT_EQ(cpus(8, {2}), 2u);
  EXPECT_EQ(cpus(8, {0.1}), 1u);
  EXPECT_EQ(cpus(1, {4}), 1u);
  EXPECT_EQ(cpus(8, {6, 2.5, 4}), 3u) << "the tightest group decides";
  EXPECT_EQ(cpus(0, {}), 1u);
}

TEST(CgroupFolders, AreTheOwnGroupAndAllAboveIt) {
  EXPECT_EQ(cgroup_folders("0::/\n", "cpu"), (Folders{"/sys/fs/cgroup"}));
  EXPECT_EQ(
      cgroup_folders("0::/a.slice/b.service\n", "cpu"),
      (Folders{"/sys/fs/cgroup/a.slice/b.service", "/sys/fs/cgroup/a.slice", "/sys/fs/cgroup"}));
}

TEST(CgroupFolders, AreThoseOfTheControllerInTheFirstVersion) {
  const std::string_view text = "12:memory:/m\n4:cpu,cpuacct:/docker/x\n0::/y\n";
  EXPECT_EQ(cgroup_folders(text, "cpu"),
            (Folders{"/sys/fs/cgroup/cpu/docker/x", "/sys/fs/cgroup/cpu/docker",
                     "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/y", "/sys/fs/cgroup"}));
  EXPECT_EQ(cgroup_folders(text, "memory"),
            (Folders{"/sys/fs/cgroup/memory/m", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/y",
                     "/sys/fs/cgroup"}));
  EXPECT_EQ(cgroup_folders("4:cpuset:/x\n", "cpu"), (Folders{"/sys/fs/cgroup"}));
}

TEST(CgroupFolders, SurviveAnyText) {
  for (const char* text : {"", "\n", "::", "0:", "0::", "0::x", "a:b", ":::/", "0::/\n\n0::/a"}) {
    EXPECT_FALSE(cgroup_folders(text, "cpu").empty()) << text;
  }
}

TEST(Machine, HasACpuAndSomeMemory) {
  EXPECT_GE(usable_cpus(), 1u);
  EXPECT_GT(memory_limit().count, 1u << 20);
}

TEST(OpenFiles, AreRaisedAsFarAsTheHardLimitGoesAndNeverLowered) {
  EXPECT_EQ(raised({.soft = 1024, .hard = 4096}, 65536), 4096u);
  EXPECT_EQ(raised({.soft = 1024, .hard = 1 << 20}, 65536), 65536u);
  EXPECT_EQ(raised({.soft = 100'000, .hard = 1 << 20}, 65536), 100'000u);
  EXPECT_EQ(raised({.soft = RLIM_INFINITY, .hard = RLIM_INFINITY}, 65536),
            std::numeric_limits<uint64_t>::max());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const uint64_t now = raise_open_files(before.rlim_cur + 1);
  EXPECT_GE(now, before.rlim_cur);
  EXPECT_LE(now, before.rlim_max);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace fairlead::base
