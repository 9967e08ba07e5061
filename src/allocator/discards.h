// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "ext4/geometry.h"
#include "state/fs_state.h"

namespace e4r::allocator {

// The number of discards sent, and the number of blocks that they cover. A block counts each time
// it is discarded.
struct DiscardCounts {
  std::uint64_t issued = 0;
  std::uint64_t blocks = 0;

  void add(std::uint64_t count) {
    ++issued;
    blocks += count;
  }
  friend bool operator==(const DiscardCounts&, const DiscardCounts&) = default;
};

// The state of a search for free runs to discard in a part of one group (ext4_try_to_trim_range).
struct Trim {
  std::uint32_t group = 0;
  std::uint32_t start = 0, end = 0;  // clusters; `end` is one past the last
  std::uint32_t minlen = 1;          // shorter runs are skipped
  // Set for a FITRIM whose minlen is below the minlen of the previous FITRIM. It visits a group
  // even if the group is marked as trimmed.
  bool even_trimmed = false;
  bool done = false;

  // The number of the FITRIM, from 1, or 0 for the worker (FsState::Discarding::by).
  std::uint64_t number = 0;

  // The progress of the search.
  bool begun = false;
  bool from_first = false;  // the search began at the group's first cluster
  bool all = false;         // it covered the group from the first cluster to the end
  std::uint64_t seen = 0;   // free clusters that the search has passed
};

// The discards that FITRIM and a mount with -o discard send to the device (ext4_process_freed_data,
// ext4_discard_work, ext4_trim_all_free, ext4_try_to_trim_range and ext4_trim_extent in
// fs/ext4/mballoc.c; Linux 6.1.192, 6.12.117 and 7.3.4 have the same rules).
//
// A commit returns to the buddies the extents that its transaction freed, and puts them on a list.
// A worker handles the extents in list order. For each extent it discards the runs that are free at
// that time and begin inside the extent. The last run may reach beyond the extent's end, within the
// group. A run is marked as in use while it is being discarded. Thus the worker does not discard
// clusters that have been allocated again. It discards the free space after an extent even if that
// space was discarded before, but never the free space before the extent. On a mount that frees
// clusters at once, the worker is not used: each freed range is discarded as a whole, before it
// becomes free.
//
// FITRIM visits the groups of its range that have at least minlen free clusters, and discards their
// free runs of at least minlen clusters in order. The last run may reach beyond the range. When the
// worker or a FITRIM of any minlen has searched a group from its first cluster to its last, the
// group is marked as trimmed (Group::trimmed). Later FITRIMs skip it until a cluster of it is
// freed. A FITRIM with a lower minlen than the previous FITRIM does not skip it, even if the
// previous one visited other groups.
class Discards {
 public:
  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

  // Queues the extents that a commit has returned.
  void commit(const std::vector<state::FreedList::Entry>& given_back);
  // Discards clusters that are about to be freed immediately, without a commit.
  void free_at_once(const state::FsState& state, std::uint32_t group, std::uint32_t start,
                    std::uint32_t clusters);
  // Runs the worker until it has discarded `most` runs or nothing is left. A run is taken out of
  // its group and put back. This may move the group to the end of its lists. Unless `most` is kAll,
  // the last run stays in use until the next call. Returns how many runs were discarded.
  std::uint64_t work(state::FsState& state, std::uint64_t most);
  // Does the same for a FITRIM in one group. Loads the group. The call that finds no further free
  // run sets `trim.done`.
  std::uint64_t work(state::FsState& state, Trim& trim, std::uint64_t most);

  // The extents that the worker has not finished, in order.
  [[nodiscard]] const std::deque<Trim>& pending() const { return pending_; }
  void restore(std::deque<Trim> pending) { pending_ = std::move(pending); }

  [[nodiscard]] const DiscardCounts& counts() const { return counts_; }
  // All discarded ranges, in order.
  [[nodiscard]] const std::vector<BlockRange>& sent() const { return sent_; }

 private:
  std::uint64_t continue_trim(state::FsState& state, Trim& trim, std::uint64_t most);
  void send(const state::FsState& state, std::uint32_t group, std::uint32_t start,
            std::uint32_t clusters);

  std::deque<Trim> pending_;
  DiscardCounts counts_;
  std::vector<BlockRange> sent_;
};

}  // namespace e4r::allocator
