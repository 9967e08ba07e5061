// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "allocator/request.h"
#include "allocator/search.h"

namespace e4r::allocator {

// How the kernel keeps an inode's preallocations.
struct PreallocRules {
  enum class Kept : std::uint8_t {
    by_age,    // on a list, the newest first, never trimmed (up to 5.8)
    by_use,    // on a list, most recently used first, trimmed at the end to mb_max_inode_prealloc
    by_block,  // in a tree by file block, never trimmed (6.4)
  };
  Kept kept;
  // True: the result in the closing event has the file block at which a new preallocation was
  // placed. False: it has the file block from before the placement (6.5).
  bool result_as_placed;
  // True: `preallocated` in mb_stats counts all clusters of a new preallocation. False: it excludes
  // the clusters that the request takes at once.
  bool counted_whole;
  // True: an inode's preallocation serves a request with EXT4_MB_HINT_GOAL_ONLY only if it contains
  // the whole goal at the goal's blocks (ext4_mb_pa_goal_check). False: it serves the request from
  // any place.
  bool checks_goal;
  Placement placed = Placement::over_end;
  // How often a search that finds no space is repeated.
  enum class Retries : std::uint8_t {
    while_discarding,  // as long as preallocations could be discarded (up to 5.7)
    strict_at_end,     // then once more with EXT4_MB_STRICT_CHECK
                       // (ext4_mb_discard_preallocations_should_retry; up to 5.15.70)
    twice,             // the same, but at most twice in all
  };
  Retries retries = Retries::twice;
  // True: small files that no program has open for writing use the CPU's locality group
  // (ext4_mb_group_or_file). False: their requests get exactly the requested length (up to 5.10 and
  // 5.15.70).
  bool groups_closed_files = true;
};
inline constexpr PreallocRules kPreallocs5_4 = {.kept = PreallocRules::Kept::by_age,
                                                .result_as_placed = true,
                                                .counted_whole = false,
                                                .checks_goal = false};
inline constexpr PreallocRules kPreallocs6_1 = {.kept = PreallocRules::Kept::by_use,
                                                .result_as_placed = true,
                                                .counted_whole = false,
                                                .checks_goal = false};
inline constexpr PreallocRules kPreallocs6_4 = {.kept = PreallocRules::Kept::by_block,
                                                .result_as_placed = false,
                                                .counted_whole = true,
                                                .checks_goal = false};
inline constexpr PreallocRules kPreallocs6_5 = {.kept = PreallocRules::Kept::by_block,
                                                .result_as_placed = false,
                                                .counted_whole = true,
                                                .checks_goal = true};
[[nodiscard]] constexpr PreallocRules with_placement(PreallocRules rules, Placement placement) {
  rules.placed = placement;
  return rules;
}

// A preallocation that existed before the first request.
struct PlantedPrealloc {
  static constexpr std::uint64_t kNobody = UINT64_MAX;  // as `owner`: it serves no request
  state::Prealloc::Kind kind = state::Prealloc::Kind::inode;
  std::uint64_t owner = 0;  // an inode number, or a CPU
  std::uint32_t group = 0;
  std::uint32_t start = 0;  // cluster in the group
  // Clusters. In an inode's preallocation, clusters that are in use count as already handed out.
  std::uint32_t len = 0;
  std::uint32_t logical = 0;  // file block of the first cluster (inode kind)
  // Preallocations made later have higher numbers. If the numbers are equal, the order in which
  // they are planted is the order in which they were made.
  std::uint64_t made = 0;
};

// Manages the preallocations of one file system: finds the one that serves a request, and makes and
// releases them.
class Preallocations {
 public:
  Preallocations(state::FsState& state, const Tunables& tunables, Counters& counters,
                 const PreallocRules& rules)
      : state_(state), tunables_(tunables), counters_(counters), rules_(rules) {}

  // Returns the preallocation that serves the request, or null (ext4_mb_use_preallocated). Call
  // find_of_inode() first, and find_of_cpu() if it returns null. No preallocation serves a request
  // for metadata. find_of_cpu() returns null unless the request has EXT4_MB_HINT_GROUP_ALLOC. Both
  // functions change nothing.
  [[nodiscard]] state::Prealloc* find_of_inode(const Request& request, const Search& search);
  [[nodiscard]] state::Prealloc* find_of_cpu(const Request& request, const Search& search);
  // The clusters of `pa` that serve the request.
  [[nodiscard]] Extent clusters_for(const Search& search, const state::Prealloc& pa) const;
  // Serves the request from `pa`. For a group preallocation, only finish() cuts the clusters off.
  void use(Search& search, state::Prealloc& pa);
  // Makes a preallocation of search.best, places it in the file, and serves the request from it.
  // `held` has a set bit for each of its clusters that was already in use (FsState::force_take);
  // empty if all were free.
  state::Prealloc& make(const Request& request, Search& search,
                        const std::vector<std::uint64_t>& held);
  // Ends the request: moves the preallocation that served it to its place on the lists, or drops it
  // if it is used up (ext4_mb_release_context).
  void finish(const Request& request, const Search& search, state::Prealloc& pa);
  // Adds a preallocation that existed before the first request. Returns false and changes nothing
  // if some clusters are outside the group or if no cluster is free. A CPU's preallocation must not
  // contain any cluster in use.
  bool plant(const PlantedPrealloc& planted);
  // Discards the inode's oldest preallocations if it has more than mb_max_inode_prealloc allows.
  void trim(std::uint64_t ino);

  // Discards preallocations of an inode (ext4_discard_preallocations): the `needed` least recently
  // used ones, or all if `needed` is 0.
  void discard_inode(std::uint64_t ino, std::uint32_t needed);
  // Discards preallocations group by group until `needed` clusters are freed. Returns whether any
  // cluster was freed.
  bool discard_for(std::uint32_t needed);

 private:
  [[nodiscard]] bool has_goal(const Search& search, const state::Prealloc& pa) const;
  std::uint32_t discard_group(std::uint32_t number);
  void give_back(state::Prealloc& pa);
  void requeue(const Search* search, std::uint32_t cpu, state::Prealloc& pa);

  state::FsState& state_;
  const Tunables& tunables_;
  Counters& counters_;
  const PreallocRules& rules_;
};

}  // namespace e4r::allocator
