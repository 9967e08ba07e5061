// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lazyinit/tables.h"
#include "lazyinit/target.h"
#include "util/status.h"

namespace e4r::lazyinit {

// How many inode tables are initialised, according to the descriptors alone. Bytes are bytes of
// tables.
struct Inventory {
  std::uint64_t groups = 0;
  std::uint64_t inode_uninit = 0, block_uninit = 0, zeroed = 0;  // groups with that flag
  std::uint64_t unused_groups = 0;                               // groups with unused inodes
  std::uint64_t unused_inodes = 0;
  std::uint64_t table_bytes = 0;
  std::uint64_t to_do = 0;        // groups without ZEROED that have something to zero
  std::uint64_t bytes_to_do = 0;  // size of the unused parts of these groups
  std::uint64_t to_flag = 0;      // groups without ZEROED that have nothing to zero: they lack
                                  // only the flag
};

[[nodiscard]] Inventory take_inventory(std::span<const Table> tables);

// Neighbouring groups whose tables differ only in their location.
struct GroupRun {
  std::uint32_t first = 0, last = 0;
  Table like;                     // the first group
  std::uint64_t bytes_to_do = 0;  // in each group
};
[[nodiscard]] std::vector<GroupRun> runs_of_groups(std::span<const Table> tables);

// One character for each of at most `width` equal spans of groups:
//   '#'  all flagged ZEROED
//   '.'  all to be zeroed and never used (INODE_UNINIT)
//   'o'  all to be zeroed, some with inodes in use
//   '+'  some of them flagged, some not
[[nodiscard]] std::string map_of_groups(std::span<const Table> tables, std::size_t width);

// The cost of zeroing on some storage.
struct ZeroCost {
  std::uint64_t bytes_per_second = 100u << 20;
  // Cost of a group in addition to its bytes: a seek, and a flush of the disk's cache.
  std::chrono::duration<double> per_group{0.035};
};
// The longest time that the kernel's timer adds to a sleep, with HZ=250 as in Debian's kernels.
inline constexpr std::chrono::duration<double> kTick{0.004};

// How long the kernel's thread takes for `inventory`. After each group it sleeps `multiplier` times
// as long as the first group took, flush included, rounded up to whole ticks (ext4_run_li_request,
// Linux 6.1 super.c). So the time is (multiplier + 1) x (bytes / rate + cost of each group), plus a
// tick for each group unless the thread never sleeps.
[[nodiscard]] std::chrono::duration<double> estimate(const Inventory& inventory,
                                                     std::uint32_t multiplier,
                                                     const ZeroCost& cost);

// A range that should be zero: the unused part of a group's table, or a part of the journal (no
// group).
struct ZeroRange {
  std::optional<std::uint32_t> group;
  ByteRange range;
};

// The unused parts of all tables in the order of groups, and then the journal.
[[nodiscard]] std::vector<ZeroRange> parts_of(const Tables& tables,
                                              std::span<const ByteRange> journal);

// A byte that is not zero or could not be read.
struct NotZero {
  std::optional<std::uint32_t> group;
  std::uint64_t offset = 0;  // in bytes from the start of the target
  bool unreadable = false;
};

struct Checked {
  std::uint64_t blocks = 0;        // file-system blocks that were read or are holes
  std::uint64_t blocks_total = 0;  // in all parts
  std::optional<NotZero> bad;  // the byte at which the search ended; empty if all bytes are zero
};

// The number of blocks in a sample. If a share f of the storage is not zero, a sample misses all of
// it with a probability of (1 - f)^4096: 1.7 % at f = 0.1 %, 1e-18 at 1 %. A sample is meant to
// detect storage that is not prezeroed. Only reading everything finds a single stale table among
// thousands.
inline constexpr std::uint64_t kSampleBlocks = 4096;

// Reads every part, on `threads` threads. `bad` is in the earliest part that is not zero.
[[nodiscard]] Result<Checked> check_all_zero(Target& target, std::span<const ZeroRange> parts,
                                             std::uint32_t block_size, unsigned threads);

// Reads one block, chosen at random with `seed`, in each of kSampleBlocks equal slices of the
// parts, or all blocks if there are no more than that.
[[nodiscard]] Result<Checked> check_sample_zero(Target& target, std::span<const ZeroRange> parts,
                                                std::uint32_t block_size, std::uint64_t seed);

// A group whose ITABLE_ZEROED flag is wrong, or may be wrong.
struct Lie {
  std::uint32_t group = 0;
  Content content = Content::data;  // data; or unreadable, if it is unknown whether the flag is
                                    // wrong
  std::uint64_t offset = 0;         // offset of the first such byte on the target
};

struct Verified {
  std::uint32_t checked = 0;  // groups flagged ITABLE_ZEROED
  std::uint64_t bytes = 0;    // bytes of their unused parts
  std::uint64_t read = 0;     // bytes that had to be read; holes are not read
  std::vector<Lie> lies;      // by group
  // Groups whose unused part contains nothing but zeros and deleted inodes, and the number of these
  // inodes. Such groups appear when e2fsck or resize2fs finds more unused inodes than before.
  std::vector<std::uint32_t> with_deleted;
  std::uint64_t deleted_inodes = 0;
  bool stopped = false;  // `stop` was set before all groups were checked
};

struct VerifyProgress {
  std::uint64_t bytes_done = 0, bytes_total = 0;
};

// Reads the unused part of each table in `groups`, a part of tables.tables(), that is flagged
// ITABLE_ZEROED. The kernel relies on the flag when it uses inodes in that part, and e2fsck when it
// skips them. Nothing uses the bytes after the last inode of a table. Writes nothing. Calls
// `progress` from one thread at a time.
[[nodiscard]] Result<Verified> verify_tables(
    Target& target, const Tables& tables, std::span<const Table> groups, unsigned threads,
    const std::atomic<bool>* stop = nullptr,
    const std::function<void(const VerifyProgress&)>& progress = {});

// Clears ITABLE_ZEROED of these groups, durably, also in the copies of their descriptors. The
// kernel or zero_tables() will then zero their tables again.
[[nodiscard]] Status retract(Target& target, Tables& tables, std::span<const std::uint32_t> groups);
[[nodiscard]] std::vector<std::uint32_t> groups_of(std::span<const Lie> lies);

}  // namespace e4r::lazyinit
