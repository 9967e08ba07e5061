// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "state/mounted_geometry.h"
#include "util/status.h"

namespace e4r::allocator {

// The allocator's knobs, named as in /sys/fs/ext4/DEV. Defaults are the kernel's (ext4_mb_init and
// ext4_mb_init_backend, Linux 6.1); those that depend on the geometry come from defaults_for().
struct Tunables {
  static constexpr std::uint64_t kUnset = UINT64_MAX;

  std::uint64_t mb_max_to_scan = 200;
  std::uint64_t mb_min_to_scan = 10;
  std::uint64_t mb_stream_req = 16;       // blocks
  std::uint64_t mb_group_prealloc = 512;  // clusters
  std::uint64_t mb_max_inode_prealloc = 512;
  std::uint64_t mb_max_linear_groups = 0;  // 4 on rotational disks
  std::uint64_t mb_order2_req = 2;
  std::uint64_t mb_prefetch = 32;        // groups
  std::uint64_t mb_prefetch_limit = 32;  // reads
  std::uint64_t mb_stripe = 0;           // blocks
  std::uint64_t mb_optimize_scan = 1;    // search by order lists
  std::uint64_t mb_cr1_5_max_trim_order = 3;
  std::uint64_t mb_best_avail_max_trim_order = 3;
  std::uint64_t extsize = 4;        // blocks; of files that have one, not of the file system
  std::uint64_t extsize_every = 1;  // inode numbers that are multiples of it have an extsize
  std::uint64_t extsize_trim = 0;   // 1: the goal of an aligned search may become the request
  std::uint64_t possible_cpus = 0;  // of the machine, no knob of the kernel's; 0: not known
  // Those of policies from files (add_own_tunable()). kUnset: the file's default.
  std::uint64_t own_1 = kUnset, own_2 = kUnset, own_3 = kUnset, own_4 = kUnset;
  std::uint64_t own_5 = kUnset, own_6 = kUnset, own_7 = kUnset, own_8 = kUnset;
};

[[nodiscard]] Tunables defaults_for(const state::MountedGeometry& geometry);

// The tunables `now`, but for what the mount has settled in `mounted` for good: mb_stripe,
// mb_optimize_scan, possible_cpus.
[[nodiscard]] Tunables with_mount_of(const Tunables& mounted, Tunables now);

// How many groups from `group` on are read ahead at a time: mb_prefetch, within one flex group.
[[nodiscard]] std::uint32_t prefetch_batch(const Tunables& tunables, const Geometry& geometry,
                                           std::uint32_t group);

// The groups [first, next) whose bitmaps somebody reads together who is not allocating and wants
// that of `group`: a batch of mb_prefetch groups (ext4_run_li_request, Linux 6.1).
struct ReadBatch {
  std::uint32_t first = 0, next = 0;
};
[[nodiscard]] ReadBatch read_batch(const Tunables& tunables, const Geometry& geometry,
                                   std::uint32_t group);

struct Policy;

struct TunableInfo {
  std::string_view name;
  std::uint64_t Tunables::*member;
  std::uint64_t max;  // largest value accepted
  std::string_view meaning;
  bool (*read_by)(const Policy&) = nullptr;  // null: every policy reads it
  bool own = false;                          // of policies from files: read_by() is not asked
  std::uint64_t fallback = 0;                // of an own one: the default
  bool power_of_two = false;                 // or 0
};
// All that there are now, and the one of a name or a member; null: there is none. Good for as long
// as the program runs; thread-safe, as is the next one.
[[nodiscard]] std::span<const TunableInfo> tunable_table();
[[nodiscard]] const TunableInfo* find_tunable(std::string_view name);
[[nodiscard]] const TunableInfo* find_tunable(std::uint64_t Tunables::*member);

// A tunable of policies from files. The same description again gives the same tunable. Errors: a
// name or a meaning that is none, a default above `max`, a name that another one has, more than
// eight of them.
[[nodiscard]] Result<const TunableInfo*> add_own_tunable(std::string_view name,
                                                         std::string_view meaning,
                                                         std::uint64_t fallback, std::uint64_t max);

// The value that decides. Who reads a tunable by its row reads it so: the member of an own one may
// be kUnset.
[[nodiscard]] inline std::uint64_t value_of(const Tunables& tunables, const TunableInfo& info) {
  const std::uint64_t value = tunables.*(info.member);
  return info.own && value == Tunables::kUnset ? info.fallback : value;
}

// Whether the tunable can have the value. The error says why not.
[[nodiscard]] Status check_value(const TunableInfo& info, std::uint64_t value);

// Applies "NAME=VALUE". The error lists the known names.
[[nodiscard]] Status set_tunable(Tunables& tunables, std::string_view assignment);

// Applies what a recorder noted of the kernel: lines "mb_NAME:VALUE" or "mb_NAME=VALUE" as read
// from sysfs, and a line of /proc/mounts whose options mb_optimize_scan= and stripe= count. Other
// lines and names that are not modelled are passed over. Returns how many values were taken.
[[nodiscard]] std::size_t read_recorded_tunables(Tunables& tunables, std::string_view text);

}  // namespace e4r::allocator
