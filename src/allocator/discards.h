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

// A look for free runs among clusters of one group, those that the device is told of
// (ext4_try_to_trim_range).
struct Trim {
  std::uint32_t group = 0;
  std::uint32_t start = 0, end = 0;  // clusters; the end is past the last
  std::uint32_t minlen = 1;          // shorter runs are passed over
  // It is FITRIM's, with a minlen below that of the FITRIM before: the group's being trimmed does
  // not count.
  bool even_trimmed = false;
  bool done = false;

  // Where it is.
  bool begun = false;
  bool from_first = false;  // it began at the group's first cluster
  bool all = false;         // it has come to the group's end from there, or was to
  std::uint64_t seen = 0;   // free clusters that were passed
};

// What a mount with -o discard, and FITRIM, tell the device (ext4_process_freed_data,
// ext4_discard_work, ext4_trim_all_free, ext4_try_to_trim_range and ext4_trim_extent in
// fs/ext4/mballoc.c, Linux 6.1.192, 6.12.117 and 7.3.4, which have the same rules).
//
// A commit gives all that its transaction has freed back to the buddies, and puts the extents on a
// list. A worker takes them from it in their order. Of each it sends the runs that are free when it
// comes to it: those that begin in the extent, and the last of them as far as it reaches beyond the
// extent's end, within the group. While a run is sent it is in use. So what has been allocated
// again is not sent, free space on the right of an extent is sent once more, and that on its left
// is not. What a mount frees at once is sent as it is, before it is free.
//
// FITRIM goes through the groups of its range that have at least minlen clusters free, and sends
// the runs of at least so many, in order; the last one as far as it reaches beyond the range. A
// group that was looked through from its first cluster to its last is trimmed (Group::trimmed), by
// FITRIM of any minlen or by the worker. It is left out until something is freed in it, unless the
// minlen is below that of the last FITRIM, whichever groups that was for.
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
  // The same of FITRIM in one group, which is loaded by that. It is done as soon as nothing of what
  // is free now is left to send.
  std::uint64_t work(state::FsState& state, Trim& trim, std::uint64_t most);

  [[nodiscard]] const DiscardCounts& counts() const { return counts_; }
  // Each of them, in the order in which they were sent.
  [[nodiscard]] const std::vector<BlockRange>& sent() const { return sent_; }

 private:
  std::uint64_t go_on(state::FsState& state, Trim& trim, std::uint64_t most);
  void send(const state::FsState& state, std::uint32_t group, std::uint32_t start,
            std::uint32_t clusters);

  std::deque<Trim> pending_;
  DiscardCounts counts_;
  std::vector<BlockRange> sent_;
};

}  // namespace e4r::allocator
