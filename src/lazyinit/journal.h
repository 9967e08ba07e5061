// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <vector>

#include "lazyinit/tables.h"
#include "util/status.h"

namespace e4r::lazyinit {

// The blocks of the journal inode (EXT2_JOURNAL_INO, 8) but the first, which holds the journal's
// own superblock: what has to read as zeros in a new file system. Old blocks that look like a
// journal's could otherwise be replayed after a crash, once sequence numbers get that far, which is
// what mke2fs's lazy_journal_init risks. Empty without a journal, or with one on another device.
// An Error if it lies outside of the file system.
[[nodiscard]] Result<std::vector<ByteRange>> journal_ranges(Target& target);

}  // namespace e4r::lazyinit
