// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "state/group.h"
#include "util/status.h"

namespace e4r::allocator {

// The allocator's tunables, named as in /sys/fs/ext4/DEV. The defaults are the kernel's
// (ext4_mb_init and ext4_mb_init_backend, Linux 6.1). defaults_for() sets the values that depend on
// the geometry.
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
  std::uint64_t mb_optimize_scan = 1;    // 1: search by order lists
  std::uint64_t mb_cr1_5_max_trim_order = 3;
  std::uint64_t mb_best_avail_max_trim_order = 3;
  std::uint64_t extsize = 4;  // blocks; applies to files, not to the file system
  // Only inodes whose number is a multiple of this value have an extsize.
  std::uint64_t extsize_every = 1;
  std::uint64_t extsize_trim = 0;  // 1: if no aligned goal is free, search for the requested length
  std::uint64_t possible_cpus = 0;  // CPUs of the machine, not a kernel tunable; 0: unknown
  // For plugin policies (add_own_tunable()). kUnset stands for the default that the plugin gives.
  std::uint64_t own_1 = kUnset, own_2 = kUnset, own_3 = kUnset, own_4 = kUnset;
  std::uint64_t own_5 = kUnset, own_6 = kUnset, own_7 = kUnset, own_8 = kUnset;
};

[[nodiscard]] Tunables defaults_for(const state::MountedGeometry& geometry);

// Returns `now`, except for the values that the mount has fixed in `mounted`: mb_stripe,
// mb_optimize_scan and possible_cpus.
[[nodiscard]] Tunables with_mount_of(const Tunables& mounted, Tunables now);

// How many groups are read ahead at once, starting at `group`: mb_prefetch, limited to the flex
// group.
[[nodiscard]] std::uint32_t prefetch_batch(const Tunables& tunables, const Geometry& geometry,
                                           std::uint32_t group);

// The groups [first, next) whose bitmaps are read together: a batch of mb_prefetch groups. The
// lazy-init thread reads in such batches (ext4_run_li_request, Linux 6.1).
struct ReadBatch {
  std::uint32_t first = 0, next = 0;
};
[[nodiscard]] ReadBatch read_batch(const Tunables& tunables, const Geometry& geometry,
                                   std::uint32_t group);

struct Policy;

struct TunableInfo {
  std::string_view name;
  std::uint64_t Tunables::*member;
  std::uint64_t max;  // the largest accepted value
  std::string_view meaning;
  bool (*read_by)(const Policy&) = nullptr;  // whether the policy reads it; null: every policy does
  bool own = false;                          // added by a plugin policy; read_by() does not apply
  std::uint64_t fallback = 0;                // the default, if `own` is set
  bool power_of_two = false;                 // the value must be a power of two, or 0
};
// tunable_table() returns all current tunables. find_tunable() returns null if no tunable has that
// name or member. Rows remain valid until the program ends. Thread-safe, as is add_own_tunable().
[[nodiscard]] std::span<const TunableInfo> tunable_table();
[[nodiscard]] const TunableInfo* find_tunable(std::string_view name);
[[nodiscard]] const TunableInfo* find_tunable(std::uint64_t Tunables::*member);

// Adds a tunable of a plugin policy. Returns the existing tunable if its description is identical.
// Errors: an invalid name or meaning, a default above `max`, a name in use, more than eight
// tunables.
[[nodiscard]] Result<const TunableInfo*> add_own_tunable(std::string_view name,
                                                         std::string_view meaning,
                                                         std::uint64_t fallback, std::uint64_t max);

// The value in effect. Use this to read a tunable through its row, since the member of a plugin
// policy's tunable may be kUnset.
[[nodiscard]] inline std::uint64_t value_of(const Tunables& tunables, const TunableInfo& info) {
  const std::uint64_t value = tunables.*(info.member);
  return info.own && value == Tunables::kUnset ? info.fallback : value;
}

// Checks that the tunable accepts the value. The error gives the reason if it does not.
[[nodiscard]] Status check_value(const TunableInfo& info, std::uint64_t value);

// Applies "NAME=VALUE". The error lists the known names.
[[nodiscard]] Status set_tunable(Tunables& tunables, std::string_view assignment);

// Applies the settings that a recorder saved. Reads three kinds of lines: "mb_NAME:VALUE" or
// "mb_NAME=VALUE" as in sysfs; "possible_cpus:VALUE"; and a line of /proc/mounts, of which it uses
// the options mb_optimize_scan= and stripe=. Ignores other lines and unknown names. Returns the
// number of values applied.
[[nodiscard]] std::size_t read_recorded_tunables(Tunables& tunables, std::string_view text);

}  // namespace e4r::allocator
