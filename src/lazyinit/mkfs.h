// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "lazyinit/mkfs_options.h"
#include "lazyinit/tables.h"
#include "lazyinit/zeroer.h"
#include "util/status.h"

namespace e4r::lazyinit {

// A byte of an unused table part that is not zero, or could not be read.
struct NotZero {
  std::uint32_t group = 0;
  std::uint64_t offset = 0;  // in bytes from the start of the target
  bool unreadable = false;
};

struct Checked {
  std::uint64_t blocks = 0;        // file-system blocks that were looked at
  std::uint64_t blocks_total = 0;  // in unused parts
  std::optional<NotZero> bad;      // the first one found; the search ends there
};

// Blocks in a sample. Of storage of which a part f is not zero, a sample misses all with a
// probability of (1 - f)^4096: 1.7 % at f = 0.1 %, 1e-18 at 1 %. It is meant to find storage that
// is not prezeroed; a single stale table in thousands takes verify=full.
inline constexpr std::uint64_t kSampleBlocks = 4096;

// Do unused parts of tables read as zeros? Looks at all of them, or at one block, drawn with
// `seed`, in each of kSampleBlocks equal slices (all, if there are no more than that).
[[nodiscard]] Result<Checked> check_zero(Target& target, const Tables& tables, bool all,
                                         std::uint64_t seed, unsigned threads);

struct MkfsOutcome {
  std::uint32_t groups = 0;
  bool group_checksums = false;   // without them nothing below was done: mke2fs zeroed all tables
  ZeroOutcome zeroing;            // zero and probe
  Checked checked;                // prezeroed
  std::uint64_t seed = 0;         // of the sample
  std::uint32_t lazy = 0;         // tables left for later
  std::uint32_t believed = 0;     // marked because the sample was zero
  std::uint64_t table_bytes = 0;  // all tables, used parts too
  std::uint64_t bytes_avoided = 0;
  std::uint64_t bytes_later = 0;  // unused parts of lazy tables
};

// What follows mke2fs. No flag that mke2fs set is taken over: what is marked in the end was zeroed,
// found zero or sampled here. That costs nothing where mke2fs was right, since holes are passed
// over; and where a sample is not zero, every flag goes, so that the tables are done later.
// Everything is durable afterwards. `stop` ends zeroing early, which leaves the rest lazy.
[[nodiscard]] Result<MkfsOutcome> finish_mkfs(
    Target& target, Tables& tables, const MkfsOptions& options, std::uint64_t seed,
    const std::atomic<bool>* stop, const std::function<void(const ZeroProgress&)>& progress = {});

}  // namespace e4r::lazyinit
