// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lazyinit/tables.h"

namespace e4r::lazyinit {

// How many inode tables are initialised, by the descriptors alone. Bytes are bytes of tables.
struct Inventory {
  std::uint64_t groups = 0;
  std::uint64_t inode_uninit = 0, block_uninit = 0, zeroed = 0;  // groups with the flag
  std::uint64_t unused_groups = 0;                               // groups with unused inodes
  std::uint64_t unused_inodes = 0;
  std::uint64_t table_bytes = 0;
  std::uint64_t to_do = 0;        // groups without ZEROED that have something to zero
  std::uint64_t bytes_to_do = 0;  // of these, the unused parts
  std::uint64_t to_flag = 0;      // groups without ZEROED that lack nothing but the flag
};

[[nodiscard]] Inventory take_inventory(std::span<const Table> tables);

// Neighbouring groups that differ only in their place.
struct GroupRun {
  std::uint32_t first = 0, last = 0;
  Table like;                     // the first one
  std::uint64_t bytes_to_do = 0;  // of each
};
[[nodiscard]] std::vector<GroupRun> runs_of_groups(std::span<const Table> tables);

// One character for each of at most `width` equal spans of groups:
//   '#'  all flagged ZEROED
//   '.'  all to be zeroed and never used (INODE_UNINIT)
//   'o'  all to be zeroed, some with inodes in use
//   '+'  some of them flagged, some not
[[nodiscard]] std::string map_of_groups(std::span<const Table> tables, std::size_t width);

// What zeroing costs on a storage.
struct ZeroCost {
  std::uint64_t bytes_per_second = 100u << 20;
  // Cost of a group besides its bytes: a seek, and a flush of the disk's cache.
  std::chrono::duration<double> per_group{0.035};
};
// The longest that the kernel's timer adds to a sleep, with HZ=250 as in Debian's kernels.
inline constexpr std::chrono::duration<double> kTick{0.004};

// How long the kernel's thread takes for `inventory`. After each group it sleeps `multiplier` times
// as long as the first group took, flush included, in whole ticks (ext4_run_li_request, Linux 6.1
// super.c). So the time is (multiplier + 1) x (bytes / rate + cost of each group), and a tick for
// each group unless the thread never sleeps.
[[nodiscard]] std::chrono::duration<double> estimate(const Inventory& inventory,
                                                     std::uint32_t multiplier,
                                                     const ZeroCost& cost);

}  // namespace e4r::lazyinit
