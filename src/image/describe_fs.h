// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <vector>

#include "image/ext2_handle.h"
#include "image/fs_info.h"

namespace e4r::image {

[[nodiscard]] SuperblockInfo read_superblock(ext2_filsys fs);

// Returns one entry per group. Its `fault` is set as far as the descriptors alone show it.
[[nodiscard]] std::vector<GroupInfo> read_groups(ext2_filsys fs, const SuperblockInfo& superblock);

}  // namespace e4r::image
