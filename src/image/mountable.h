// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>

#include "util/fd.h"
#include "util/status.h"

namespace e4r::image {

// The disks of a guest kernel, as anonymous files in memory: a file system that is empty but has
// the free space of an image, and its journal.
struct MountableDisks {
  Fd file_system;
  Fd journal;  // not open if the file system has no journal
};

// Copies what describes an image's free space (Image::bookkeeping) and adds what a kernel needs for
// a mount: an empty root directory, and an external journal. The number of the journal's device is
// `journal_device` (as in st_rdev, below 2^16: major << 8 | minor). Drops features that need more
// than that and do not affect allocation: quota, project quota, orphan file, multiple-mount
// protection, casefold, encryption, verity, fast commits. Discards an unreplayed journal and
// recorded errors. Allocations and frees on the result are the same as they would be on the image.
// It takes the memory of the bitmaps and of what is written to them.
[[nodiscard]] Result<MountableDisks> make_mountable(const std::string& image_path,
                                                    const std::string& named,
                                                    std::uint32_t journal_device);

}  // namespace e4r::image
