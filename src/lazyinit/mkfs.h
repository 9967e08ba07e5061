// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>

#include "lazyinit/mkfs_options.h"
#include "lazyinit/tables.h"
#include "lazyinit/zero_check.h"
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
// Everything is durable afterwards. `stop` ends zeroing of tables early and leaves the rest lazy.
[[nodiscard]] Result<MkfsOutcome> finish_mkfs(
    Target& target, Tables& tables, std::span<const ByteRange> journal, const MkfsOptions& options,
    std::uint64_t seed, const std::atomic<bool>* stop = nullptr,
    const std::function<void(const ZeroProgress&)>& progress = {});

}  // namespace e4r::lazyinit
