// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "tune2fs-lazy/session.h"
#include "util/status.h"

namespace e4r::tools {

// Runs the installed tune2fs with "-O FEATURES IMAGE" (PATH, then /usr/sbin and /sbin), nothing on
// its standard input, its output kept; FEATURES set or drop metadata_csum. Then gives the orphan
// file its checksums, which tune2fs forgets (lazyinit/orphan_file.h), and takes ITABLE_ZEROED from
// the groups that had no such flag before. With --dry-run says so, and that is all.
//
// What tune2fs says is printed. It may ask for e2fsck -fD, when a block of a directory has no room
// for a checksum; the file system is then marked as not clean, and that is an Error. An Error of
// tune2fs's has what it printed. The image must not be open here: tune2fs takes a device for itself
// alone. It runs under the lock, and has it too.
//
// Turning metadata_csum on or off rewrites inodes, directories, extents and attributes. tune2fs
// knows how, and there is no reason to know it twice.
[[nodiscard]] Status change_metadata_csum(const ImageOptions& options, const std::string& features,
                                          const lazyinit::ImageLock& lock);

}  // namespace e4r::tools
