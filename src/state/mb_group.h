// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>

namespace e4r::state {

// A line of /proc/fs/ext4/NAME/mb_groups, as ext4_mb_seq_groups_show prints it: the buddy of a
// group, in which preallocations are in use.
struct MbGroup {
  // orders that the kernel prints, whatever the block size
  static constexpr std::size_t kOrders = 14;
  std::uint32_t number = 0;
  std::uint32_t free = 0;        // clusters
  std::uint32_t fragments = 0;   // runs of free clusters
  std::uint32_t first_free = 0;  // no cluster below it is free; it may be in use itself
  std::array<std::uint32_t, kOrders> counters = {};  // free chunks of each order
  std::size_t printed = kOrders;                     // how many counters the line has
};

}  // namespace e4r::state
