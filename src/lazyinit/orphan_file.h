// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "lazyinit/target.h"
#include "util/status.h"

namespace e4r::lazyinit {

// With metadata_csum, each block of the orphan file (feature orphan_file) has a checksum. tune2fs
// up to 1.47.0 leaves these checksums as they are when it sets or drops metadata_csum. The kernel
// then refuses to mount ("orphan file block 0: bad checksum", ext4_init_orphan_info()), and e2fsck
// calls the blocks not clean.

// Refuses if renew_orphan_checksums() would refuse a block. Call it before anything is written. A
// file system without an orphan file passes.
[[nodiscard]] Status orphan_file_readable(Target& target);

// Gives each block of the orphan file the checksum that the features ask for, or clears it; then
// syncs. Refuses blocks that do not look like an orphan file.
[[nodiscard]] Status renew_orphan_checksums(Target& target);

}  // namespace e4r::lazyinit
