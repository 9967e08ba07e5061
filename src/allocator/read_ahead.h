// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "allocator/search.h"

namespace e4r::allocator {

// Which groups read-ahead loads, and when (ext4_mb_prefetch, ext4_mb_prefetch_fini and their
// callers).
struct ReadAheadRules {
  // Groups marked BLOCK_UNINIT are initialised too, without I/O, and each group is judged by its
  // own descriptor. False: each is judged by the descriptor of the next group.
  bool uninit;
  // Every batch of a search is finished. False: only the last one.
  bool every_batch;
  // A batch is finished even if nothing had to be read for it.
  bool without_reads;
  // True: a rung that reads no batch leaves no batch to finish. False: the batch before it is
  // remembered and finished backwards from the group where the rung began.
  bool forgotten_by_next_rung;
};

inline constexpr ReadAheadRules kReadAhead6_1 = {
    .uninit = false, .every_batch = false, .without_reads = false, .forgotten_by_next_rung = false};
inline constexpr ReadAheadRules kReadAheadCr1_5 = {
    .uninit = true, .every_batch = true, .without_reads = true, .forgotten_by_next_rung = false};
inline constexpr ReadAheadRules kReadAhead6_5 = {
    .uninit = true, .every_batch = false, .without_reads = true, .forgotten_by_next_rung = false};
inline constexpr ReadAheadRules kReadAhead6_8 = {
    .uninit = true, .every_batch = false, .without_reads = true, .forgotten_by_next_rung = true};

// The read-ahead of one search.
class ReadAhead {
 public:
  ReadAhead(Search& search, const ReadAheadRules& rules) : search_(search), rules_(rules) {}

  // A rung begins at `group`.
  void begin(std::uint32_t group);
  // The search looks at `group`. If read-ahead continues there, reads the next batch. In a fast
  // rung (`fast`) it does so only until mb_prefetch_limit bitmaps have been read.
  void at(std::uint32_t group, bool fast);
  // The search is over: generates the buddies of the last batch, backwards.
  void finish();
  // Whether a look at a group can still have an effect through read-ahead.
  [[nodiscard]] bool pending() const;

 private:
  Search& search_;
  const ReadAheadRules& rules_;
  std::uint32_t next_ = 0;   // where read-ahead goes on
  std::uint32_t end_ = 0;    // the group after the last batch
  std::uint32_t count_ = 0;  // groups of the last batch
  std::uint64_t reads_ = 0;
};

}  // namespace e4r::allocator
