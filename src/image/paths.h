// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "image/ext2_handle.h"
#include "image/image.h"

namespace e4r::image {

// Image::paths() on a handle that nobody else uses meanwhile.
[[nodiscard]] FoundPaths find_paths(ext2_filsys fs, const std::set<std::uint64_t>& wanted);

}  // namespace e4r::image
