// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "allocator/search.h"
#include "ext4/request_flags.h"

namespace e4r::allocator {

// The group in which every search begins, including those for streams, metadata and group
// preallocations. Stock kernels use kStartAtGoal. kStartAtCursor is the posting "ext4: add optional
// rotating block allocation policy" (linux-ext4, 4 February 2026, mount option rotalloc) in the
// form of kernel/patches/rotalloc. The others serve for comparison with it
// (docs/studies/rotalloc.md) or to spread writers (docs/studies/contention.md).
struct StartRules {
  enum class From : std::uint8_t {
    goal,  // the request's goal, or where its stream goes on
    // the group where the last search of all ended; 0 after the mount and after a search without
    // success
    cursor,
    first,  // group 0
    // The goal's group plus a fixed distance for each CPU or inode (spread_groups), wrapping around
    // the last group. A stream goes on where it was.
    cpu,
    inode,
  };
  From from;
  // Moves a goal that is tried before the search to that group, at the same place in it. False: the
  // goal is tried at its own place.
  bool moves_goal;

  // Whether a stream goes on where it was.
  [[nodiscard]] constexpr bool keeps_streams() const {
    return from != From::cursor && from != From::first;
  }
};
inline constexpr StartRules kStartAtGoal = {StartRules::From::goal, false};
inline constexpr StartRules kStartAtCursor = {StartRules::From::cursor, true};  // the posting
inline constexpr StartRules kStartAtCursorBehindGoal = {StartRules::From::cursor, false};
inline constexpr StartRules kStartAtFirstGroup = {StartRules::From::first, false};
inline constexpr StartRules kStartByCpu = {StartRules::From::cpu, false};
inline constexpr StartRules kStartByInode = {StartRules::From::inode, false};

// A number below `groups`. Consecutive numbers give distant results. Computed as by the kernel's
// hash_32() and reciprocal_scale().
[[nodiscard]] constexpr std::uint32_t spread_groups(std::uint64_t number, std::uint32_t groups) {
  constexpr std::uint32_t kGoldenRatio32 = 0x61c88647;
  const auto hash = static_cast<std::uint32_t>(number) * kGoldenRatio32;
  return static_cast<std::uint32_t>(std::uint64_t{hash} * groups >> 32);
}

class SearchStart {
 public:
  explicit SearchStart(const StartRules& rules) : rules_(rules) {}

  // To be called before the goal is tried.
  void aim_goal(Search& search) const {
    if (rules_.moves_goal) aim(search);
  }
  // To be called before groups are searched, after a stream has set its goal.
  void aim(Search& search) const {
    using From = StartRules::From;
    if (rules_.from == From::goal) return;
    if (rules_.from == From::cpu || rules_.from == From::inode)
      return spread(search, rules_.from == From::cpu ? search.cpu : search.ino);
    // The cursor may be beyond the groups that a file without extents can use.
    const bool reaches = rules_.from == From::cursor && cursor_ < search.groups;
    search.goal.group = reaches ? cursor_ : 0;
  }
  // A search is over; `group` is that of the find, or 0.
  void ended(std::uint32_t group) { cursor_ = group; }

 private:
  static void spread(Search& search, std::uint64_t number) {
    if ((search.flags & mb::stream_alloc) != 0) return;
    const std::uint32_t group = search.goal.group < search.groups ? search.goal.group : 0;
    const std::uint64_t on = std::uint64_t{group} + spread_groups(number, search.groups);
    search.goal.group = static_cast<std::uint32_t>(on % search.groups);
  }

  StartRules rules_;
  std::uint32_t cursor_ = 0;
};

}  // namespace e4r::allocator
