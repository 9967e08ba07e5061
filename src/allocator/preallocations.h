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
    by_use,    // on a list, most recently used first, trimmed from its end to mb_max_inode_prealloc
    by_block,  // in a tree by file block, never trimmed (6.4)
  };
  Kept kept;
  // The result in the closing event shows the file blocks of a new preallocation as placed. False:
  // it shows them as the search took the clusters (6.5).
  bool result_as_placed;
  // `preallocated` of mb_stats counts a new preallocation whole. False: without the part that the
  // request takes at once.
  bool counted_whole;
  // An inode's preallocation serves a request with EXT4_MB_HINT_GOAL_ONLY only if it has the whole
  // goal at the goal's place (ext4_mb_pa_goal_check). False: it serves the request from any place.
  bool checks_goal;
  Placement placed = Placement::over_end;
  // A search that finds no space, and no preallocation to give back, is repeated once with
  // EXT4_MB_STRICT_CHECK (ext4_mb_discard_preallocations_should_retry). False: it fails (up
  // to 5.7).
  bool retries_strictly = true;
  // At most three searches for one request. False: as many as there are preallocations to give back
  // (5.4 and up to 5.15.70).
  bool tries_thrice = true;
  // Small files that no program has open for writing use the CPU's locality group
  // (ext4_mb_group_or_file). False: they get exactly what they ask for (up to 5.10 and 5.15.70).
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
  // Clusters. In an inode's preallocation, those in use count as handed out already.
  std::uint32_t len = 0;
  std::uint32_t logical = 0;  // file block of the first cluster (inode kind)
};

// The preallocations of one file system: finds the one that serves a request, makes them and
// releases them.
class Preallocations {
 public:
  Preallocations(state::FsState& state, const Tunables& tunables, Counters& counters,
                 const PreallocRules& rules)
      : state_(state), tunables_(tunables), counters_(counters), rules_(rules) {}

  // The preallocation that serves the request, or null (ext4_mb_use_preallocated). Search the
  // inode's preallocations first, then the preallocations of the CPU's locality group. A request
  // for metadata gets no preallocation. A request without EXT4_MB_HINT_GROUP_ALLOC gets no
  // preallocation of the CPU. Both functions change nothing.
  [[nodiscard]] state::Prealloc* find_of_inode(const Request& request, const Search& search);
  [[nodiscard]] state::Prealloc* find_of_cpu(const Request& request, const Search& search);
  // The clusters of `pa` that serve the request.
  [[nodiscard]] Extent served_from(const Search& search, const state::Prealloc& pa) const;
  // Serves the request from `pa`. For a group preallocation, only finish() cuts the clusters off.
  void use(Search& search, state::Prealloc& pa);
  // Makes a preallocation of search.best, places it in the file, and serves the request from it.
  // `held`: which of its clusters were in use (FsState::force_take); empty: all were free.
  state::Prealloc& make(const Request& request, Search& search,
                        const std::vector<std::uint64_t>& held);
  // Ends the request: the preallocation that served it moves to its place in the lists, or goes
  // away if it is used up (ext4_mb_release_context).
  void finish(const Request& request, const Search& search, state::Prealloc& pa);
  // Returns false and changes nothing when the clusters are not all inside the group, when none of
  // them is free, or when some of a CPU's are in use.
  bool plant(const PlantedPrealloc& planted);
  // Gives back an inode's oldest preallocations when it has more than mb_max_inode_prealloc allows.
  void trim(std::uint64_t ino);

  // Gives back preallocations of an inode (ext4_discard_preallocations): the `needed` least
  // recently used ones, or all when `needed` is 0.
  void discard_inode(std::uint64_t ino, std::uint32_t needed);
  // Gives back the preallocations of one group after the other until `needed` clusters are freed.
  // Returns whether any cluster was freed.
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
