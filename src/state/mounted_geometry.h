// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "ext4/geometry.h"

namespace e4r::state {

// The geometry of a file system that is mounted, with the features and mount options that decide
// for its allocator.
struct MountedGeometry : Geometry {
  std::uint32_t stripe = 0;  // blocks; 0 or at least 2 (ext4_get_stripe_size)
  bool desc_csum = false;    // uninit_bg or metadata_csum: BLOCK_UNINIT counts
  bool journal = false;
  bool data_writeback = false;  // data=writeback
  bool discard = false;         // discard: the device is told of what is freed
  bool extents = true;          // new inodes map blocks by extents

  // Whether clusters that are freed can be used at once, and not only after their transaction has
  // been committed. With data=writeback this holds for data of regular files in spite of the
  // journal (ext4_should_writeback_data in ext4_mb_clear_bb, Linux 6.1).
  [[nodiscard]] bool frees_at_once(bool file_data) const {
    return !journal || (data_writeback && file_data);
  }
};

}  // namespace e4r::state
