// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "ext4/geometry.h"

namespace e4r::state {

// The geometry of a mounted file system, with the features and mount options that affect its
// allocator.
struct MountedGeometry : Geometry {
  std::uint32_t stripe = 0;  // blocks; 0 or at least 2 (ext4_get_stripe_size)
  bool desc_csum = false;    // uninit_bg or metadata_csum: BLOCK_UNINIT is valid
  bool journal = false;
  bool data_writeback = false;  // data=writeback
  bool discard = false;         // mount option discard: the device is told of freed blocks
  bool extents = true;          // new inodes map blocks by extents

  // Whether freed clusters are usable at once rather than after their transaction has committed.
  // With data=writeback this holds for data of regular files despite the journal
  // (ext4_should_writeback_data in ext4_mb_clear_bb, Linux 6.1).
  [[nodiscard]] bool frees_at_once(bool file_data) const {
    return !journal || (data_writeback && file_data);
  }
};

}  // namespace e4r::state
