// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "allocator/search.h"
#include "ext4/criterion.h"

namespace e4r::allocator {

// Where streams continue: a large file starts in the group where the previous large file ended.
struct StreamRules {
  // True: one goal per possible CPU, at most one for four groups. The inode number selects the
  // goal, which holds only a group. False: one goal for all inodes, which also holds the cluster
  // (s_mb_last_group).
  bool by_inode;
};
inline constexpr StreamRules kOneStreamGoal = {.by_inode = false};
inline constexpr StreamRules kStreamGoalsByInode = {.by_inode = true};  // s_mb_last_groups, 6.17

// Whether a request of a stream loses the hint to try its goal first (EXT4_MB_HINT_TRY_GOAL).
[[nodiscard]] constexpr bool clears_try_goal(const StreamRules& rules) {
  return rules.by_inode;
}

// The goal of an inode's stream before the first request.
struct PlantedStreamGoal {
  std::uint64_t ino = 0;
  std::uint32_t group = 0;
  std::uint32_t start = 0;  // cluster
};

class StreamGoals {
 public:
  StreamGoals(const StreamRules& rules, std::uint32_t groups, std::uint64_t possible_cpus)
      : rules_(rules), slots_(rules.by_inode ? count(groups, possible_cpus) : 1) {}

  // A present or former goal of a stream.
  struct Goal {
    std::uint32_t group = 0;
    std::uint32_t start = 0;    // cluster
    std::uint64_t request = 0;  // number of the request whose search ended there, or 0
  };

  // Sets the goal of a stream's request to the latest goal of the inode's stream, or, if
  // Search::continues_from names a request, to the goal that the search of that request set.
  void aim(Search& search) const {
    const Goal& goal = goal_of(search);
    search.goal.group = goal.group;
    search.goal.start = rules_.by_inode ? kNoStart : goal.start;
    if (clears_try_goal(rules_)) search.flags &= ~mb::hint_try_goal;
  }
  // Records that request number `request`, which belongs to the inode's stream, took these
  // clusters.
  void move(const Extent& taken, std::uint64_t ino, std::uint64_t request) {
    Slot& slot = slots_[index(ino)];
    const Goal goal = {taken.group, taken.start, request};
    ++slot.newest;
    if (slot.goals.size() < kKept)
      slot.goals.push_back(goal);
    else
      slot.goals[slot.newest % kKept] = goal;
  }
  // Calls each(goal) for the latest goals of the inode's stream, newest first, until it returns
  // false.
  template <class Each>
  void for_each(std::uint64_t ino, const Each& each) const {
    const Slot& slot = slots_[index(ino)];
    for (std::uint64_t back = 0; back < slot.goals.size(); ++back)
      if (!each(slot.goals[(slot.newest - back) % kKept])) return;
  }
  // Whether one of the latest goals of the inode's stream would appear in a trace as this group and
  // start.
  [[nodiscard]] bool has(std::uint64_t ino, std::uint32_t group, std::uint32_t start) const {
    bool found = false;
    for_each(ino, [&](const Goal& goal) {
      found = shows(goal, group, start);
      return !found;
    });
    return found;
  }
  // Whether this goal would appear in a trace as this group and start.
  [[nodiscard]] bool shows(const Goal& goal, std::uint32_t group, std::uint32_t start) const {
    return goal.group == group && (rules_.by_inode ? kNoStart : goal.start) == start;
  }
  // `planted` is in trace order. Only the first entry for each stream is used; later entries show a
  // goal that has moved since.
  void plant(const std::vector<PlantedStreamGoal>& planted) {
    for (auto it = planted.rbegin(); it != planted.rend(); ++it)
      slots_[index(it->ino)].goals[0] = {it->group, it->start, 0};
  }

  // The number of streams. for_each() also accepts a stream's index in place of an inode number.
  [[nodiscard]] std::size_t streams() const { return slots_.size(); }
  // Sets a stream's latest goals, oldest first. Their request numbers must not occur in the trace.
  void restore(std::size_t stream, const std::vector<Goal>& goals) {
    if (stream >= slots_.size() || goals.empty() || goals.size() > kKept) return;
    slots_[stream].goals = goals;
    slots_[stream].newest = goals.size() - 1;
  }

 private:
  // How many goals to keep. While one thread is descheduled, the others are assumed to make at most
  // this many requests.
  static constexpr std::size_t kKept = 4096;
  struct Slot {
    std::vector<Goal> goals = {{}};  // the latest goals; a ring buffer once it has kKept elements
    std::uint64_t newest = 0;        // the sequence number of the newest goal, from 0
  };
  static std::size_t count(std::uint32_t groups, std::uint64_t possible_cpus) {
    const std::uint64_t most = (static_cast<std::uint64_t>(groups) + 3) / 4;
    return static_cast<std::size_t>(std::max<std::uint64_t>(std::min(possible_cpus, most), 1));
  }
  [[nodiscard]] std::size_t index(std::uint64_t ino) const {
    return static_cast<std::uint32_t>(ino) % slots_.size();
  }
  [[nodiscard]] const Goal& goal_of(const Search& search) const {
    const Slot& slot = slots_[index(search.ino)];
    const Goal* found = &slot.goals[slot.newest % kKept];
    if (search.continues_from == kLatestGoal) return *found;
    for_each(search.ino, [&](const Goal& goal) {
      const bool wanted = goal.request == search.continues_from;
      if (wanted) found = &goal;
      return !wanted;
    });
    return *found;
  }

  StreamRules rules_;
  std::vector<Slot> slots_;
};

}  // namespace e4r::allocator
