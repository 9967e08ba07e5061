// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "ext4/blocks.h"
#include "state/fs_state.h"

namespace e4r::allocator {

// How many discards were sent, and of how many blocks. A block counts each time that it is sent.
struct DiscardCounts {
  std::uint64_t issued = 0;
  std::uint64_t blocks = 0;

  void add(std::uint64_t count) {
    ++issued;
    blocks += count;
  }
  friend bool operator==(const DiscardCounts&, const DiscardCounts&) = default;
};

// What a mount with -o discard tells the device (ext4_process_freed_data, ext4_discard_work,
// ext4_try_to_trim_range and ext4_trim_extent in fs/ext4/mballoc.c, Linux 6.1.192; 7.3.4 has the
// same rules).
//
// A commit gives all that its transaction has freed back to the buddies, and puts the extents on a
// list. A worker takes them from it in their order. Of each it sends the runs that are free when it
// comes to it: those that begin in the extent, and the last of them as far as it reaches beyond the
// extent's end, within the group. While a run is sent it is in use. So what has been allocated
// again is not sent, free space on the right of an extent is sent once more, and that on its left
// is not. What a mount frees at once is sent as it is, before it is free.
class Discards {
 public:
  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

  // A commit has given these back.
  void commit(const std::vector<state::FreedList::Entry>& given_back);
  // Clusters that are freed at once, before they are free.
  void free_at_once(const state::FsState& state, std::uint32_t group, std::uint32_t start,
                    std::uint32_t clusters);
  // The worker goes on, until it has sent `most` runs or nothing is left. A run is taken out of its
  // group and put back, which may move the group to the end of its lists. Returns how many it sent.
  std::uint64_t work(state::FsState& state, std::uint64_t most);

  [[nodiscard]] const DiscardCounts& counts() const { return counts_; }
  // Each of them, in the order in which they were sent.
  [[nodiscard]] const std::vector<BlockRange>& sent() const { return sent_; }

 private:
  // What is left of an extent: the clusters from `start` to `end`.
  struct Pending {
    std::uint32_t group = 0;
    std::uint32_t start = 0, end = 0;
    std::uint64_t seen = 0;  // free clusters of the group that were passed
  };
  bool send_next(state::FsState& state, Pending& pending);
  void send(const state::FsState& state, std::uint32_t group, std::uint32_t start,
            std::uint32_t clusters);

  std::deque<Pending> pending_;
  DiscardCounts counts_;
  std::vector<BlockRange> sent_;
};

}  // namespace e4r::allocator
