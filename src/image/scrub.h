// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "util/status.h"

namespace e4r::image {

// Removes from an image's superblock what identifies its owner: label, UUID, mount point, times,
// mount options, the last errors. Checksums remain valid: their seed is kept (metadata_csum_seed)
// or they are recomputed. Changes the image in place; it must be a copy.
[[nodiscard]] Status scrub(const std::string& path);

}  // namespace e4r::image
