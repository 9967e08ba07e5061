// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "util/status.h"

namespace e4r::image {

// Takes out of an image's superblock what tells whose it is: label, UUID, where it was mounted,
// times, mount options, the last errors. Checksums stay true: what they were seeded with is kept
// (metadata_csum_seed), or they are made anew. The image is changed in place; it must be a copy.
[[nodiscard]] Status scrub(const std::string& path);

}  // namespace e4r::image
