// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <vector>

#include "image/ext2_handle.h"
#include "image/image.h"

namespace e4r::image {

// Implement Image::inode() and Image::file_extents(). Nobody else may use the handle meanwhile.
// Errors do not name the image.
[[nodiscard]] Result<InodeInfo> read_inode(ext2_filsys fs, std::uint32_t ino);
[[nodiscard]] Result<std::vector<MappedExtent>> read_extents(ext2_filsys fs, std::uint32_t ino,
                                                             std::size_t limit);

}  // namespace e4r::image
