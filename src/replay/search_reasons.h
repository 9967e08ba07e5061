// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "allocator/observer.h"
#include "replay/accounts.h"

namespace e4r::replay {

// The reason for a step of a search. A step is a group considered or an extent examined. Every step
// has exactly one reason: the first that applies, in this order.
enum class Reason : std::uint8_t {
  // The search had lost the goal of a group preallocation: a criterion that does not trim searched
  // for fewer clusters than the first criterion did.
  lost_goal,
  max_to_scan,    // extents of a search that ended because it had examined mb_max_to_scan extents
  walk,           // a group that a walk refused, in a criterion that can also use lists
  linear_groups,  // a group that was refused before the lists were used (mb_max_linear_groups)
  not_loaded,     // a group whose buddy is neither loaded nor loaded by the criterion
  full_in_lists,  // a full group that was on a list
  // a group that is not full but has too few free clusters, or whose extents or chunks are too
  // short
  goal_too_long,
  unaligned,  // a group in which a search for aligned stripes examined no extent
  other,      // groups that were searched, extents examined there, groups refused for other reasons
};
inline constexpr std::size_t kReasons = static_cast<std::size_t>(Reason::other) + 1;

// Counts the reasons for the steps of a run, and the reasons why files got more than one extent.
// Only a model reports its steps, so for a kernel's code every reason is Reason::other. No other
// account of the run may observe the decider.
class SearchReasons final : public Account, public allocator::SearchObserver {
 public:
  using Counts = std::array<std::uint64_t, kReasons>;

  // The steps of all requests. The sum over all reasons equals the allocator's counters.
  [[nodiscard]] const Counts& steps() const { return steps_; }
  // The extents that files got, except the first extent of each file and those that are contiguous
  // with a neighbour. They are counted when they are allocated. The reason of the search that found
  // the blocks, or that made their preallocation, is the reason of the extent: lost_goal,
  // max_to_scan or other.
  [[nodiscard]] const Counts& extents() const { return extents_; }
  // The goal length, in clusters, for which the most groups were goal_too_long; 0 if no group was.
  [[nodiscard]] std::uint32_t long_goal() const;

  void begin(allocator::Decider& decider) override;
  void asked(const Asked& one) override;
  bool decided(const Decided& one) override;
  void placed(std::uint64_t ino, const FileLayout& file, const FileExtent& extent) override;

  void on_rung(const allocator::Search& search, const allocator::Rung& rung,
               std::uint32_t group) override;
  void on_group(const allocator::Search& search, const allocator::Rung& rung,
                const state::Group& group) override;
  void on_pass(std::uint32_t group, std::uint32_t count, std::uint32_t least) override;
  void on_listed(const allocator::Search& search, const state::Group& group) override;
  void on_index(mb::Criterion criterion, std::uint32_t len,
                std::optional<std::uint32_t> group) override;
  void on_scan(const state::Group& group, std::uint32_t found) override;

 private:
  void add(Reason why, std::uint64_t steps) { now_[static_cast<std::size_t>(why)] += steps; }
  void add_too_long(std::uint32_t goal, std::uint64_t groups);
  void keep(const Decided& one);

  // The blocks that a search took.
  struct Taken {
    std::uint64_t len;  // blocks
    Reason why;
  };

  allocator::Indexed indexed_ = allocator::Indexed::every_file;
  SearchMeter meter_;
  std::uint64_t breaks_ = 0;  // Counters::breaks so far
  Counts steps_{}, extents_{};
  std::map<std::uint32_t, std::uint64_t> too_long_by_goal_;
  std::map<std::uint64_t, Taken> taken_;  // by first block

  // The state of the request that is being served.
  const allocator::Search* search_ = nullptr;
  Counts now_{};
  std::uint32_t first_goal_ = 0;    // clusters; 0 before the first criterion
  std::uint32_t found_ = 0;         // extents examined so far
  std::uint64_t lost_extents_ = 0;  // examined after the goal was lost
  bool lost_ = false;
  bool walks_ = false;             // the criterion can use lists but walks
  bool lists_ = false;             // the criterion will use lists but has not done so yet
  bool asked_ = false;             // the criterion has used lists
  bool striped_ = false;           // the group is searched for aligned stripes
  Reason served_ = Reason::other;  // reason of the search that found the blocks
};

}  // namespace e4r::replay
