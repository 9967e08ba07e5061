// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/decision.h"
#include "allocator/lock_steps.h"
#include "allocator/observer.h"
#include "allocator/policy.h"

namespace e4r::allocator {

// What the steps of a decision cost in the code of a kernel, in nanoseconds: what
// test/guest/step_costs measured of `-p kernel:FILE` (docs/many-writers.md).
struct StepCosts {
  // A request that a preallocation serves: until it locks the group to mark the clusters, while it
  // does so, and from then on.
  std::uint32_t before_mark, mark, after_mark;
  // One that searches: until the first group is looked at; the same two for its marking.
  std::uint32_t before_search, mark_found, after_found;
  std::uint32_t look;  // at a group, with no lock held
  std::uint32_t ask;   // for a group of an order list, or of a set
  // With the lock of a group held:
  std::uint32_t goal;     // the goal's place is not free
  std::uint32_t extent;   // a free extent is examined
  std::uint32_t in_vain;  // the bitmap is gone through, and nothing found that will do
  std::uint32_t take;     // clusters leave the buddy, and the group goes to other lists or sets
  std::uint32_t load;     // a buddy is made: as long for the bitmap, and again for the buddy
  std::uint32_t drop;     // a preallocation leaves the group's list
};

// Times the steps of a model's decisions by a table of costs, and notes the locks that the code
// takes on the way: those of groups, of locality groups, and of the lists of groups by order.
class StepClock : public SearchObserver {
 public:
  StepClock(const Policy& policy, LockNotes& notes);

  // Around each decision. `group`: where the clusters are that were handed out.
  void begin();
  void end(const Decision& decision, std::uint32_t group);

  void tried_goal(const Search&, const Extent& found, bool taken) override;
  void rung(const Search&, const Rung& rung, std::uint32_t group) override;
  void looked(const Search&, const Rung& rung, const state::Group& group) override;
  void passed(std::uint32_t group, std::uint32_t count, std::uint32_t least) override;
  void asked_index(mb::Criterion criterion, std::uint32_t len,
                   std::optional<std::uint32_t> group) override;
  void measured(const Extent& extent, bool best) override;
  void scanned(const state::Group& group, std::uint32_t found) override;
  void took(const Extent& extent) override;
  void loaded(std::uint32_t group) override;
  void came_back(const state::Group& group) override;
  void dropped(std::uint32_t group) override;

 private:
  void hold(std::uint32_t group, bool tries, std::uint64_t ns);
  void take_found();
  void add_step(std::uint64_t lock, std::uint16_t name, LockStep::What what);

  const Policy& policy_;
  const StepCosts& costs_;
  LockNotes& notes_;
  std::uint16_t group_, locality_, index_;  // names
  std::vector<LockStep> steps_;
  std::uint64_t ns_ = 0;                  // since the request began
  std::uint32_t goal_len_ = 0;            // clusters
  std::uint32_t measured_ = 0;            // extents of the group that is being scanned
  bool tries_ = false;                    // the rung leaves a group whose lock is taken
  bool scanning_ = false, took_ = false;  // a group, and from it
  std::vector<std::uint32_t> dropped_;    // the groups of preallocations
};

}  // namespace e4r::allocator
