// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "lazyinit/target.h"
#include "util/status.h"

namespace e4r::lazyinit {

// The orphan file (feature orphan_file) has a checksum in each of its blocks where the file system
// has metadata_csum, and none elsewhere. tune2fs to 1.47.0 leaves them as they are when it sets or
// drops metadata_csum: the kernel then refuses to mount ("orphan file block 0: bad checksum",
// ext4_init_orphan_info()), and e2fsck calls the blocks not clean.

// Whether renew_orphan_checksums() will take every block, before anything is written: an Error if
// not. A file system without an orphan file is all right.
[[nodiscard]] Status orphan_file_readable(Target& target);

// Gives each block of the orphan file the checksum that the features ask for, or none; then sync.
// Refuses blocks that are no orphan file's.
[[nodiscard]] Status renew_orphan_checksums(Target& target);

}  // namespace e4r::lazyinit
