// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <vector>

#include "image/ext2_handle.h"
#include "image/geometry.h"

namespace e4r::image {

[[nodiscard]] Geometry read_geometry(ext2_filsys fs);

// One entry per group, `fault` already telling what the descriptors alone give away.
[[nodiscard]] std::vector<GroupInfo> read_groups(ext2_filsys fs, const Geometry& geometry);

}  // namespace e4r::image
