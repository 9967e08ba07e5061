// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lazyinit/mkfs_options.h"
#include "lazyinit/tables.h"
#include "lazyinit/target.h"
#include "lazyinit/verify.h"
#include "lazyinit/zeroer.h"
#include "util/status.h"

namespace e4r::lazyinit {

struct MkfsOutcome {
  std::uint32_t groups = 0;
  bool group_checksums = false;  // without them mke2fs zeroed all tables, and there is nothing left
                                 // to do
  ZeroOutcome zeroing;           // result for the tables, with zero and probe
  Checked checked;               // result for tables and journal, with prezeroed
  std::uint64_t seed = 0;        // seed of the sample
  std::uint32_t lazy = 0;        // tables left to be zeroed later
  std::uint32_t believed = 0;    // tables marked because the checked blocks read as zeros
  std::uint64_t table_bytes = 0;  // all tables, including used parts
  std::uint64_t table_bytes_avoided = 0;
  std::uint64_t table_bytes_later = 0;  // unused parts of lazy tables
  std::uint64_t journal_bytes = 0;
  std::uint64_t journal_written = 0, journal_zeroed = 0, journal_avoided = 0;
};

// Does the work that is left after mke2fs, whose options made it skip the initialisation of the
// tables.
//
// Flags that mke2fs set are not trusted: every table that is flagged at the end was zeroed, found
// to be zero, or checked here. That costs nothing where mke2fs was right, because holes are
// skipped. If `prezeroed` finds anything but zeros, all flags are cleared, so that the tables are
// zeroed later.
//
// `journal` is journal_ranges(), or empty if the command line has an option about the journal. The
// journal is valid already (add_for_storage()): either mke2fs has zeroed it, or everything read as
// zeros. In the second case it is checked again; with prezeroed, it is checked together with the
// tables. `write` writes zeros to the journal. Otherwise a program that copies the image and skips
// holes would skip the journal, too. If mke2fs has punched a file and then allocated blocks for the
// journal, these blocks are punched again.
//
// Copies of descriptors get the same flags, because mke2fs may have set flags there, too.
//
// Everything is durable on return. Setting `stop` ends the zeroing of tables early and leaves the
// rest uninitialised.
[[nodiscard]] Result<MkfsOutcome> finish_mkfs(
    Target& target, Tables& tables, std::span<const ByteRange> journal, const MkfsOptions& options,
    std::uint64_t seed, const std::atomic<bool>* stop = nullptr,
    const std::function<void(const ZeroProgress&)>& progress = {});

// The blocks of the journal inode (EXT2_JOURNAL_INO, 8) except the first, which holds the journal's
// own superblock. They must read as zeros in a new file system. Otherwise old blocks that look like
// journal blocks could be replayed after a crash, once the journal's sequence numbers have reached
// those of the old blocks. mke2fs's lazy_journal_init takes that risk. Empty if there is no journal
// or it is on another device. Returns an Error if the journal lies outside the file system.
[[nodiscard]] Result<std::vector<ByteRange>> journal_ranges(Target& target);

// Some storage cannot be read before it has been written: dm-integrity without a wipe, or the disk
// of a confidential virtual machine. mke2fs fails on it. mke2fs itself reads almost nothing, but it
// writes parts of pages (each superblock has 1,024 bytes), and the kernel reads the rest of such a
// page first. A rehearsal in a sparse file shows where mke2fs writes.

// The pages that must be readable before mke2fs starts, as byte ranges of the device, sorted and
// merged:
//
//   - all pages to which mke2fs wrote in the rehearsal;
//   - pages that a bitmap, an inode table or the journal shares with other blocks. These three
//     are written without the page cache, so the other blocks of the page stay unreadable and
//     make the whole page unreadable;
//   - with `whole_tables`, all inode tables: mke2fs -d reads them.
//
// `image` is the sparse file. Its file system starts at byte `offset`.
[[nodiscard]] Result<std::vector<ByteRange>> pages_of_rehearsal(const std::string& image,
                                                                std::uint64_t offset,
                                                                bool whole_tables);

// Writes zeros to each of these pages that cannot be read, and syncs. Returns the number of bytes
// written. Ignores ranges beyond the end of the target.
[[nodiscard]] Result<std::uint64_t> write_unreadable(Target& target,
                                                     std::span<const ByteRange> pages);

// Writes zeros to the bitmaps that mke2fs does not write (BLOCK_UNINIT, INODE_UNINIT). The kernel
// does not read them, but e2fsck does if it starts from a copy of the descriptors.
[[nodiscard]] Status write_unused_bitmaps(Target& target);

// The first byte of a page that cannot be read, found in a sample of pages. Empty if all of them
// can be read.
[[nodiscard]] std::optional<std::uint64_t> find_unreadable(Target& target);

}  // namespace e4r::lazyinit
