// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>

#include "util/fd.h"
#include "util/status.h"

namespace e4r::image {

// The disks of a guest kernel, as files in memory that nobody else sees: a file system with the
// free space of an image and nothing in it, and its journal.
struct MountableDisks {
  Fd file_system;
  Fd journal;  // not open when the file system has none
};

// Copies what an image says of its free space (Image::bookkeeping) and adds what a kernel wants of
// a file system that it mounts: an empty root directory, and a journal on a device of its own,
// whose number is `journal_device` (as in st_rdev, below 2^16: major << 8 | minor). Features that
// want more than that and decide no allocation are left out: quota, orphan file, multiple mount
// protection, casefold, encryption, verity. An unreplayed journal and recorded errors are
// forgotten. What is handed out and given back on it is what would be on the image; the memory it
// takes is that of the bitmaps and of what is written to them.
[[nodiscard]] Result<MountableDisks> make_mountable(const std::string& image_path,
                                                    const std::string& named,
                                                    std::uint32_t journal_device);

}  // namespace e4r::image
