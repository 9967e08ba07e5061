// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "image/ext2_handle.h"
#include "image/input_file.h"
#include "util/status.h"

namespace e4r::image {

// Reads the primary superblock and refuses it unless every count is in range, agrees with the
// others and fits the file, so that whoever computes with them (libext2fs included) neither
// divides by zero nor allocates more than the file's own size justifies.
[[nodiscard]] Status check_superblock(const InputFile& file);

}  // namespace e4r::image
