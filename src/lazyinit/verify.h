// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lazyinit/tables.h"
#include "lazyinit/target.h"
#include "util/status.h"

namespace e4r::lazyinit {

// A group whose ITABLE_ZEROED flag does not tell the truth, or may not.
struct Lie {
  std::uint32_t group = 0;
  Content content = Content::data;  // data, or unreadable: then nobody knows
  std::uint64_t offset = 0;         // of the first such byte on the target
};

struct Verified {
  std::uint32_t checked = 0;  // groups with the flag
  std::uint64_t bytes = 0;    // of their unused parts
  std::uint64_t read = 0;     // bytes that had to be read for that: holes are not
  std::vector<Lie> lies;      // by group
  // Groups with deleted inodes and nothing else in their unused part, and the number of these
  // inodes. Such groups appear when e2fsck or resize2fs finds more unused inodes than before.
  std::vector<std::uint32_t> with_deleted;
  std::uint64_t deleted_inodes = 0;
  bool stopped = false;  // `stop` was set before all groups were checked
};

struct VerifyProgress {
  std::uint64_t bytes_done = 0, bytes_total = 0;
};

// Reads the unused part of each table in `groups`, a part of tables.tables(), that is flagged
// ITABLE_ZEROED. The kernel relies on the flag when it uses inodes there, and e2fsck when it skips
// them. Bytes behind the last inode of a table belong to nobody. Writes nothing. One thread at a
// time calls `progress`.
[[nodiscard]] Result<Verified> verify_tables(
    Target& target, const Tables& tables, std::span<const Table> groups, unsigned threads,
    const std::atomic<bool>* stop = nullptr,
    const std::function<void(const VerifyProgress&)>& progress = {});

// Takes the flag from these groups, durably. The kernel or zero_tables() will then zero their
// tables again.
[[nodiscard]] Status retract(Target& target, Tables& tables, std::span<const std::uint32_t> groups);
[[nodiscard]] std::vector<std::uint32_t> groups_of(std::span<const Lie> lies);

}  // namespace e4r::lazyinit
