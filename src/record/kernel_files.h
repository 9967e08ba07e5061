// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "util/status.h"

// What a kernel shows of itself and of a mounted ext4 file system
// (Documentation/admin-guide/ext4.rst and Documentation/ABI/testing/sysfs-fs-ext4 of Linux 6.1).
namespace e4r::record {

// The files of /proc/fs/ext4/NAME that say how its space is, by name: mb_groups,
// mb_structs_summary, mb_stats, options. Those that the kernel does not have, and mb_stats while it
// is off, are left out. Reading mb_groups makes the kernel load the buddy of every group.
[[nodiscard]] std::map<std::string, std::string> read_kernel_files(const std::string& device_name);

// "mb_max_to_scan:200" and the like, a line for each; with the number of possible CPUs. What
// e4replay takes with --tunables.
[[nodiscard]] std::string read_tunables(const std::string& device_name);

// "0-3,8" has 5 CPUs, and the last is 8.
struct CpuList {
  std::uint32_t count = 0;
  std::uint32_t last = 0;
};
[[nodiscard]] CpuList parse_cpu_list(const std::string& text);
// CPUs that may ever come online; their count is 0 when sysfs does not say.
[[nodiscard]] CpuList possible_cpus();

[[nodiscard]] bool is_rotational(const std::string& device_name);

// Whether the kernel could count what mb_stats shows, and does not.
[[nodiscard]] bool is_stats_off(const std::string& device_name);
void switch_stats(const std::string& device_name, bool on);

}  // namespace e4r::record
