// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>

namespace e4r::state {

// A line of /proc/fs/ext4/NAME/mb_groups, of Linux's ext4_mb_seq_groups_show: a group's buddy, in
// which preallocations are in use.
struct MbGroup {
  static constexpr std::size_t kOrders = 14;  // that the kernel prints, of whatever block size
  std::uint32_t number = 0;
  std::uint32_t free = 0;                            // clusters
  std::uint32_t fragments = 0;                       // runs of free clusters
  std::uint32_t first_free = 0;                      // none before it is; there may be none at it
  std::array<std::uint32_t, kOrders> counters = {};  // free chunks of each order
  std::size_t printed = kOrders;                     // counters that the line has
};

}  // namespace e4r::state
