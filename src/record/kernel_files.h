// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "util/status.h"

// Information that the kernel gives about itself and about a mounted ext4 file system
// (Documentation/admin-guide/ext4.rst and Documentation/ABI/testing/sysfs-fs-ext4 of Linux 6.1).
namespace e4r::record {

// The directory of a mounted file system in sysfs. The kernel makes a new one for each mount.
[[nodiscard]] std::string sysfs_directory(const std::string& device_name);

// Reads the file system's mount options, defaults included, one a line; empty if it is not mounted.
[[nodiscard]] std::string read_options(const std::string& device_name);

// Reads the files in /proc/fs/ext4/NAME that describe the file system's space: mb_groups,
// mb_structs_summary, mb_stats, options. The map's key is the file's name. Leaves out files that
// the kernel lacks, and mb_stats while it is off. Reading mb_groups makes the kernel load every
// group's buddy.
[[nodiscard]] std::map<std::string, std::string> read_kernel_files(const std::string& device_name);

// Returns the tunables, one a line as "mb_max_to_scan:200", and the number of possible CPUs.
// `e4replay --tunables` reads this text.
[[nodiscard]] std::string read_tunables(const std::string& device_name);

// A parsed CPU list: "0-3,8" has 5 CPUs, the last of them 8.
struct CpuList {
  std::uint32_t count = 0;
  std::uint32_t last = 0;
};
[[nodiscard]] CpuList parse_cpu_list(const std::string& text);
// The CPUs that can ever come online. The count is 0 if sysfs does not list them.
[[nodiscard]] CpuList possible_cpus();

[[nodiscard]] bool is_rotational(const std::string& device_name);

// Whether the kernel can count mb_stats but does not.
[[nodiscard]] bool is_stats_off(const std::string& device_name);
void switch_stats(const std::string& device_name, bool on);

}  // namespace e4r::record
