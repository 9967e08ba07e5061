// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "allocator/search.h"
#include "ext4/criterion.h"

namespace e4r::allocator {

// Where streams go on: a large file starts in the group where the last one ended.
struct StreamRules {
  // True: one goal per possible CPU, at most one for four groups. An inode's number selects its
  // goal, which holds only the group. False: one goal for all, which also holds the cluster
  // (s_mb_last_group).
  bool by_inode;
};
inline constexpr StreamRules kOneStreamGoal = {.by_inode = false};
inline constexpr StreamRules kStreamGoalsByInode = {.by_inode = true};  // s_mb_last_groups, 6.17

// Whether a stream's request loses the hint to try its goal first.
[[nodiscard]] constexpr bool clears_try_goal(const StreamRules& rules) {
  return rules.by_inode;
}

// Where an inode's stream was to go on before the first request.
struct PlantedStreamGoal {
  std::uint64_t ino = 0;
  std::uint32_t group = 0;
  std::uint32_t start = 0;  // cluster
};

class StreamGoals {
 public:
  StreamGoals(const StreamRules& rules, std::uint32_t groups, std::uint64_t possible_cpus)
      : rules_(rules), goals_(rules.by_inode ? count(groups, possible_cpus) : 1) {}

  // Sets the goal of a stream's request to where the inode's stream goes on.
  void aim(Search& search) const {
    const Goal& goal = goals_[index(search.ino)];
    search.goal.group = goal.group;
    search.goal.start = rules_.by_inode ? kNoStart : goal.start;
    if (clears_try_goal(rules_)) search.flags &= ~mb::hint_try_goal;
  }
  // A stream's request of the inode took these clusters.
  void moved(const Extent& taken, std::uint64_t ino) {
    goals_[index(ino)] = {taken.group, taken.start};
  }
  // `planted` is in the order of the trace. Only the first entry for a goal counts; later ones show
  // a goal that has moved.
  void plant(const std::vector<PlantedStreamGoal>& planted) {
    for (auto it = planted.rbegin(); it != planted.rend(); ++it)
      goals_[index(it->ino)] = {it->group, it->start};
  }

 private:
  struct Goal {
    std::uint32_t group = 0;
    std::uint32_t start = 0;
  };
  static std::size_t count(std::uint32_t groups, std::uint64_t possible_cpus) {
    const std::uint64_t most = (static_cast<std::uint64_t>(groups) + 3) / 4;
    return static_cast<std::size_t>(std::max<std::uint64_t>(std::min(possible_cpus, most), 1));
  }
  [[nodiscard]] std::size_t index(std::uint64_t ino) const {
    return static_cast<std::uint32_t>(ino) % goals_.size();
  }

  StreamRules rules_;
  std::vector<Goal> goals_;
};

}  // namespace e4r::allocator
