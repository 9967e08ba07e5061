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
  bool group_checksums = false;  // without them mke2fs zeroed all tables, and nothing was done here
  ZeroOutcome zeroing;           // of tables, by zero and probe
  Checked checked;               // by prezeroed: tables and journal
  std::uint64_t seed = 0;        // of the sample
  std::uint32_t lazy = 0;        // tables left for later
  std::uint32_t believed = 0;    // marked because what was checked read as zeros
  std::uint64_t table_bytes = 0;  // all tables, used parts too
  std::uint64_t table_bytes_avoided = 0;
  std::uint64_t table_bytes_later = 0;  // unused parts of lazy tables
  std::uint64_t journal_bytes = 0;
  std::uint64_t journal_written = 0, journal_zeroed = 0, journal_avoided = 0;
};

// The work after mke2fs, which was told to leave the tables alone.
//
// Flags that mke2fs set are not taken over: a marked table was zeroed, found zero or checked here.
// That costs nothing where mke2fs was right, since holes are passed over. If `prezeroed` finds
// something else than zeros, all flags are cleared, so that the tables are done later.
//
// `journal` is journal_ranges(), or empty if the command line has a word on the journal. It is
// sound already (add_for_storage()): either mke2fs has zeroed it, or everything read as zeros. In
// the second case it is checked again, under prezeroed together with the tables. `write` writes it,
// since a copy without holes would leave out the journal too. If mke2fs has punched a file and then
// given the journal blocks, the blocks are punched again.
//
// Copies of descriptors get the same flags, since mke2fs may have set them there.
//
// Everything is durable afterwards. `stop` ends zeroing of tables early and leaves the rest lazy.
[[nodiscard]] Result<MkfsOutcome> finish_mkfs(
    Target& target, Tables& tables, std::span<const ByteRange> journal, const MkfsOptions& options,
    std::uint64_t seed, const std::atomic<bool>* stop = nullptr,
    const std::function<void(const ZeroProgress&)>& progress = {});

// The blocks of the journal inode (EXT2_JOURNAL_INO, 8) without the first, which holds the
// journal's own superblock. They must read as zeros in a new file system. Old blocks that look like
// blocks of a journal could be replayed after a crash, once sequence numbers get that far. mke2fs's
// lazy_journal_init takes that risk. Empty without a journal, or with one on another device. An
// Error if the journal lies outside of the file system.
[[nodiscard]] Result<std::vector<ByteRange>> journal_ranges(Target& target);

// Some storage cannot be read before it was written: dm-integrity without a wipe, or the disk of a
// confidential virtual machine. mke2fs fails there. It reads almost nothing itself, but it writes
// parts of pages (each superblock has 1,024 bytes), and the kernel reads the rest of such a page
// first. A rehearsal in a sparse file shows where mke2fs writes.

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
