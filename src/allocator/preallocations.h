// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "allocator/request.h"
#include "allocator/search.h"

namespace e4r::allocator {

// How an inode's preallocations are kept.
struct PreallocRules {
  // On a list, the last used first, that is trimmed from its end to mb_max_inode_prealloc; else in
  // a tree by file block (6.4), and never trimmed.
  bool recent_first;
  // The closing event's result says which file blocks the whole find is for once it has been placed
  // for the preallocation; else as it was taken (6.5).
  bool result_as_placed;
  // `preallocated` of mb_stats counts a new preallocation with what the request takes of it at
  // once.
  bool counted_whole;
  // Of an inode's preallocations one serves a request with EXT4_MB_HINT_GOAL_ONLY where it has the
  // whole goal at the goal's place (ext4_mb_pa_goal_check); else wherever it is.
  bool checks_goal;
  // A find shorter than the goal is kept at the goal's start when it covers the start of the
  // request there (6.5); else when it covers the request's end.
  bool placed_over_start = false;
};
inline constexpr PreallocRules kPreallocs6_1 = {
    .recent_first = true, .result_as_placed = true, .counted_whole = false, .checks_goal = false};
inline constexpr PreallocRules kPreallocs6_4 = {
    .recent_first = false, .result_as_placed = false, .counted_whole = true, .checks_goal = true};
inline constexpr PreallocRules kPreallocs6_5 = [] {
  PreallocRules rules = kPreallocs6_4;
  rules.placed_over_start = true;
  return rules;
}();

// A preallocation that was there before anything was asked for: its clusters that nobody has.
struct PlantedPrealloc {
  static constexpr std::uint64_t kNobody = UINT64_MAX;  // as the owner: it serves no request
  state::Prealloc::Kind kind = state::Prealloc::Kind::inode;
  std::uint64_t owner = 0;  // inode number, or CPU
  std::uint32_t group = 0;
  std::uint32_t start = 0;  // cluster in the group
  // Clusters. Of an inode's, those in use have been handed out of it.
  std::uint32_t len = 0;
  std::uint32_t logical = 0;  // file block of the first one (inode kind)
};

// Preallocations of one file system: which one serves a request, and how they come and go.
class Preallocations {
 public:
  Preallocations(state::FsState& state, const Tunables& tunables, Counters& counters,
                 const PreallocRules& rules)
      : state_(state), tunables_(tunables), counters_(counters), rules_(rules) {}

  // The preallocation that serves the request, or null (ext4_mb_use_preallocated): one of the
  // inode's, or, where there is none, one of the CPU's group. Requests for metadata, and those
  // without EXT4_MB_HINT_GROUP_ALLOC, have none to find. Changes nothing.
  [[nodiscard]] state::Prealloc* find_of_inode(const Request& request, const Search& search);
  [[nodiscard]] state::Prealloc* find_of_cpu(const Request& request, const Search& search);
  // The clusters of `pa` that serve the request.
  [[nodiscard]] Extent served_from(const Search& search, const state::Prealloc& pa) const;
  // Hands out of `pa` what the request asks for. A group preallocation is cut only by finish().
  void use(Search& search, state::Prealloc& pa);
  // Makes one of search.best, placed in the file, and serves the request from it. `held`: which of
  // its clusters were somebody's (FsState::force_take); empty: none.
  state::Prealloc& make(const Request& request, Search& search,
                        const std::vector<std::uint64_t>& held);
  // The request is done: what is left of the preallocation that served it goes to its place in the
  // lists, or away (ext4_mb_release_context).
  void finish(const Request& request, const Search& search, state::Prealloc& pa);
  // False, and nothing changes, when a cluster of it is outside of the group, none of it is free,
  // or not all of a CPU's.
  bool plant(const PlantedPrealloc& planted);
  // Gives back an inode's oldest ones when it has more than mb_max_inode_prealloc allows.
  void trim(std::uint64_t ino);

  // Gives back an inode's (ext4_discard_preallocations): all, or the `needed` least recently used
  // ones when that is not 0.
  void discard_inode(std::uint64_t ino, std::uint32_t needed);
  // Gives back those of group after group until `needed` clusters were unused; whether any was.
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
