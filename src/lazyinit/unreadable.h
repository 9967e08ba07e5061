// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lazyinit/tables.h"
#include "lazyinit/target.h"
#include "util/status.h"

// Some storage cannot be read before it was written: dm-integrity without a wipe, or the disk of a
// confidential virtual machine. mke2fs fails there. It reads almost nothing itself, but it writes
// parts of pages (each superblock has 1,024 bytes), and the kernel reads the rest of such a page
// first. A rehearsal in a sparse file shows where mke2fs writes.
namespace e4r::lazyinit {

// The pages that must be readable before mke2fs starts, sorted and merged, by byte of the device:
//
//   - all pages to which mke2fs wrote in the rehearsal;
//   - pages that a bitmap, an inode table or the journal shares with other blocks. Those are
//     written without the page cache, so that the other blocks of the page stay unreadable, and
//     with them the page;
//   - with `whole_tables`, all inode tables: mke2fs -d reads them.
//
// `image` is the sparse file. Its file system starts at byte `offset`.
[[nodiscard]] Result<std::vector<ByteRange>> pages_of_rehearsal(const std::string& image,
                                                                std::uint64_t offset,
                                                                bool whole_tables);

// Writes zeros to each of these pages that cannot be read, and syncs. Returns the bytes written.
// Ranges behind the end of the target are ignored.
[[nodiscard]] Result<std::uint64_t> write_unreadable(Target& target,
                                                     std::span<const ByteRange> pages);

// Writes zeros to the bitmaps that mke2fs leaves out (BLOCK_UNINIT, INODE_UNINIT). The kernel does
// not read them, but e2fsck does when it starts from a copy of the descriptors.
[[nodiscard]] Status write_unused_bitmaps(Target& target);

// The first byte of a page that cannot be read, if a sample of pages has one.
[[nodiscard]] std::optional<std::uint64_t> find_unreadable(Target& target);

}  // namespace e4r::lazyinit
