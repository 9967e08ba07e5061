// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <vector>

#include "lazyinit/tables.h"
#include "util/status.h"

namespace e4r::lazyinit {

// The blocks of the journal inode (EXT2_JOURNAL_INO, 8) without the first, which holds the
// journal's own superblock. They must read as zeros in a new file system. Old blocks that look like
// blocks of a journal could be replayed after a crash, once sequence numbers get that far. mke2fs's
// lazy_journal_init takes that risk. Empty without a journal, or with one on another device. An
// Error if the journal lies outside of the file system.
[[nodiscard]] Result<std::vector<ByteRange>> journal_ranges(Target& target);

}  // namespace e4r::lazyinit
