// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/decision.h"
#include "allocator/observer.h"
#include "allocator/policy.h"

namespace e4r::allocator {

// The time in nanoseconds that a kernel's code takes for each step of a decision, measured by
// test/guest/step_costs with `-p kernel:FILE` (docs/many-writers.md).
struct StepCosts {
  // A request that a preallocation serves: the time before it locks the group to mark the clusters,
  // the time for which it holds the lock, and the time after that.
  std::uint32_t before_mark, mark, after_mark;
  // A request that searches: the time before it looks at the first group, the time for which it
  // holds the lock to mark the clusters, and the time after that.
  std::uint32_t before_search, mark_found, after_found;
  std::uint32_t look;  // to look at one group, without a lock
  std::uint32_t ask;   // to get one group from an order list or a set
  // With the group's lock held:
  std::uint32_t goal;     // to find that the goal is not free
  std::uint32_t extent;   // to examine a free extent
  std::uint32_t in_vain;  // to scan a bitmap without success
  std::uint32_t take;  // to take clusters from the buddy and move the group to other lists or sets
  std::uint32_t load;  // to read a bitmap; making the buddy takes equally long
  std::uint32_t drop;  // to remove a preallocation from the group's list
};

// Computes the time of a model's decisions from a table of costs, and records the locks that the
// kernel's code would take: the locks of groups, of locality groups, and of the lists of groups by
// order.
class StepClock : public SearchObserver {
 public:
  StepClock(const Policy& policy, LockNotes& notes);

  // Called before and after each decision. `group` is the group of the clusters that were handed
  // out.
  void begin();
  void end(const Decision& decision, std::uint32_t group);

  void on_goal(const Search&, const Extent& found, bool taken) override;
  void on_rung(const Search&, const Rung& rung, std::uint32_t group) override;
  void on_group(const Search&, const Rung& rung, const state::Group& group) override;
  void on_pass(std::uint32_t group, std::uint32_t count, std::uint32_t least) override;
  void on_index(mb::Criterion criterion, std::uint32_t len,
                std::optional<std::uint32_t> group) override;
  void on_extent(const Extent& extent, bool best) override;
  void on_scan(const state::Group& group, std::uint32_t found) override;
  void on_take(const Extent& extent) override;
  void on_load(std::uint32_t group) override;
  void on_return(const state::Group& group) override;
  void on_drop(std::uint32_t group) override;

 private:
  void hold(std::uint32_t group, bool tries, std::uint64_t ns);
  void take_found();
  void add_step(std::uint64_t lock, std::uint16_t name, LockStep::What what);

  const Policy& policy_;
  const StepCosts& costs_;
  LockNotes& notes_;
  std::uint16_t group_, locality_, index_;  // lock names, as indices into LockNotes::names()
  std::vector<LockStep> steps_;
  std::uint64_t ns_ = 0;                  // time since the request began
  std::uint32_t goal_len_ = 0;            // clusters
  std::uint32_t measured_ = 0;            // extents examined in the group under scan
  bool tries_ = false;                    // the rung skips a group whose lock is held
  bool scanning_ = false, took_ = false;  // a group is under scan; clusters were taken from it
  std::vector<std::uint32_t> dropped_;    // groups of dropped preallocations
};

// Records the group lock that a free of clusters takes. The kernel clears bits in the bitmap in the
// same way as it sets them for a request, so a free takes as long as a request that a preallocation
// serves (ext4_mb_clear_bb and ext4_mb_mark_diskspace_used, Linux 6.1).
void note_free(const Policy& policy, std::uint32_t group, LockNotes& notes);

}  // namespace e4r::allocator
