// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <vector>

#include "image/ext2_handle.h"
#include "image/fs_info.h"

namespace e4r::image {

[[nodiscard]] SuperblockInfo read_superblock(ext2_filsys fs);

// One entry per group, `fault` already telling what the descriptors alone give away.
[[nodiscard]] std::vector<GroupInfo> read_groups(ext2_filsys fs, const SuperblockInfo& superblock);

}  // namespace e4r::image
