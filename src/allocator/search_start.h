// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "allocator/search.h"

namespace e4r::allocator {

// In which group every search begins, also those for streams, for metadata and for group
// preallocations. Stock kernels have the rules kStartAtGoal. kStartAtCursor is the posting "ext4:
// add optional rotating block allocation policy" (linux-ext4, 4 February 2026, mount option
// rotalloc) in the form of kernel/patches/rotalloc. The others are the policies with which it is
// compared.
struct StartRules {
  enum class From : std::uint8_t {
    goal,    // the request's own, or where its stream goes on
    cursor,  // where the last search of all ended; 0 at mount, and behind one that found nothing
    first,   // group 0
  };
  From from;
  // A goal that is to be tried before the search is looked for in that group as well, at the same
  // place in it. Else it is tried where it is.
  bool moves_goal;
};
inline constexpr StartRules kStartAtGoal = {StartRules::From::goal, false};
inline constexpr StartRules kStartAtCursor = {StartRules::From::cursor, true};  // the posting
inline constexpr StartRules kStartAtCursorBehindGoal = {StartRules::From::cursor, false};
inline constexpr StartRules kStartAtFirstGroup = {StartRules::From::first, false};

class SearchStart {
 public:
  explicit SearchStart(const StartRules& rules) : rules_(rules) {}

  // Before the goal is tried.
  void aim_goal(Search& search) const {
    if (rules_.moves_goal) aim(search);
  }
  // Before groups are searched, behind what a stream does to the goal.
  void aim(Search& search) const {
    if (rules_.from == StartRules::From::goal) return;
    // Files without extents stay below the groups that they cannot map.
    const bool reaches = rules_.from == StartRules::From::cursor && cursor_ < search.groups;
    search.goal.group = reaches ? cursor_ : 0;
  }
  // A search is over; the group of what was found, or 0.
  void ended(std::uint32_t group) { cursor_ = group; }

 private:
  StartRules rules_;
  std::uint32_t cursor_ = 0;
};

}  // namespace e4r::allocator
