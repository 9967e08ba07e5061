// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/step_clock.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>

#include "ext4/criterion.h"

namespace e4r::allocator {
namespace {

using What = LockStep::What;

// The name of every group's lock. src/guest/driver/locks.c uses the same name.
constexpr std::string_view kGroupName = "group";

// Costs of Linux 6.1.192, which keeps groups on lists, and of 7.3.4, which keeps them in sets.
// `ask`, `goal`, `load` and `drop` were measured with single requests.
constexpr StepCosts kLists = {.before_mark = 390,
                              .mark = 210,
                              .after_mark = 335,
                              .before_search = 620,
                              .mark_found = 450,
                              .after_found = 150,
                              .look = 35,
                              .ask = 10,
                              .goal = 100,
                              .extent = 97,
                              .in_vain = 2900,
                              .take = 365,
                              .load = 30000,
                              .drop = 20};
constexpr StepCosts kSets = {.before_mark = 425,
                             .mark = 200,
                             .after_mark = 285,
                             .before_search = 1000,
                             .mark_found = 430,
                             .after_found = 200,
                             .look = 6,
                             .ask = 10,
                             .goal = 100,
                             .extent = 105,
                             .in_vain = 1900,
                             .take = 1200,
                             .load = 30000,
                             .drop = 20};

const StepCosts& costs_of(const Policy& policy) {
  return policy.kernel.groups.index == state::GroupIndex::sets ? kSets : kLists;
}

// Locks that do not belong to a group. From kIndex on, each number is the lock of one order's list
// or set.
enum OtherLock : std::uint64_t { kLocality = 1, kIndex };

std::uint64_t index_lock(std::uint32_t len) {
  return kIndex + static_cast<std::uint64_t>(std::bit_width(len));
}

}  // namespace

StepClock::StepClock(const Policy& policy, LockNotes& notes)
    : policy_(policy),
      costs_(costs_of(policy)),
      notes_(notes),
      group_(notes.name(kGroupName)),
      locality_(notes.name("lg_mutex")),
      index_(notes.name("lists of groups")) {}

void StepClock::begin() {
  steps_.clear();
  ns_ = costs_.before_search;
  scanning_ = took_ = false;
  dropped_.clear();
}

void StepClock::add_step(std::uint64_t lock, std::uint16_t name, What what) {
  const std::uint64_t at = std::min<std::uint64_t>(ns_, UINT32_MAX);
  steps_.push_back({lock, static_cast<std::uint32_t>(at), name, what});
}

void StepClock::hold(std::uint32_t group, bool tries, std::uint64_t ns) {
  add_step(LockStep::kOfGroup | group, group_, tries ? What::tries : What::take);
  ns_ += ns;
  add_step(LockStep::kOfGroup | group, group_, What::let_go);
}

void StepClock::on_goal(const Search& search, const Extent&, bool) {
  goal_len_ = search.goal.len;
  scanning_ = false;
  hold(search.goal.group, false, costs_.goal);
}

// The kernel takes the group's lock twice: to copy the bitmap, and to generate the buddy.
void StepClock::on_load(std::uint32_t group) {
  hold(group, false, costs_.load);
  hold(group, false, costs_.load);
}

void StepClock::on_return(const state::Group& group) {
  scanning_ = false;
  hold(group.number, false, 0);
}

void StepClock::on_drop(std::uint32_t group) {
  dropped_.push_back(group);
}

void StepClock::on_rung(const Search&, const Rung& rung, std::uint32_t) {
  tries_ = tries_lock(policy_, rung);
}

void StepClock::on_group(const Search& search, const Rung&, const state::Group&) {
  ns_ += costs_.look;
  measured_ = 0;
  goal_len_ = search.goal.len;
  scanning_ = true;
}

void StepClock::on_pass(std::uint32_t, std::uint32_t count, std::uint32_t) {
  ns_ += std::uint64_t{count} * costs_.look;
}

// Adds the lock under which the kernel asks its index. Up to 6.16, kernels hold a list's lock
// shared while they walk the list; 5.13 to 5.19 do the same with the lock of their single tree.
// Later kernels take no lock.
void StepClock::on_index(mb::Criterion criterion, std::uint32_t len, std::optional<std::uint32_t>) {
  const state::GroupIndex index = policy_.kernel.groups.index;
  const bool shares = state::has_lists(index);
  const bool tree = state::has_tree(index) && criterion == mb::Criterion::cr1;
  const std::uint64_t lock = index_lock(tree ? 0 : len);
  if (shares) add_step(lock, index_, What::share);
  ns_ += costs_.ask;
  if (shares) add_step(lock, index_, What::let_go);
}

void StepClock::on_extent(const Extent&, bool) {
  ++measured_;
}

void StepClock::on_scan(const state::Group& group, std::uint32_t) {
  const std::uint64_t extents = std::uint64_t{measured_} * costs_.extent;
  hold(group.number, tries_, extents + (took_ ? 0 : costs_.in_vain));
  scanning_ = false;
  if (std::exchange(took_, false)) take_found();
}

void StepClock::on_take(const Extent&) {
  if (scanning_)
    took_ = true;
  else
    take_found();
}

// The group's lock is held until the clusters are out of the buddy and the group is on its new
// list.
void StepClock::take_found() {
  const LockStep let_go = steps_.back();
  steps_.pop_back();
  ns_ += costs_.take / 2;
  add_step(index_lock(goal_len_), index_, What::take);
  ns_ += costs_.take - costs_.take / 2;
  add_step(index_lock(goal_len_), index_, What::let_go);
  add_step(let_go.lock, let_go.name, What::let_go);
}

void StepClock::end(const Decision& decision, std::uint32_t group) {
  const bool searched = !decision.prealloc;
  if (!searched) {
    steps_.clear();
    ns_ = costs_.before_mark;
  }
  if (decision.success) {
    hold(group, false, searched ? costs_.mark_found : costs_.mark);
    ns_ += searched ? costs_.after_found : costs_.after_mark;
  }
  for (const std::uint32_t from : dropped_) hold(from, false, costs_.drop);
  // A locality group stays locked from before the search of its preallocations until the request
  // ends.
  if ((decision.flags & mb::hint_group_alloc) != 0) {
    steps_.insert(steps_.begin(), {kLocality, 0, locality_, What::sleep});
    add_step(kLocality, locality_, What::let_go);
  }
  notes_.add(steps_, static_cast<std::uint32_t>(std::min<std::uint64_t>(ns_, UINT32_MAX)));
}

void note_free(const Policy& policy, std::uint32_t group, LockNotes& notes) {
  const StepCosts& costs = costs_of(policy);
  const std::uint64_t lock = LockStep::kOfGroup | group;
  const std::uint16_t name = notes.name(kGroupName);
  const std::uint32_t marked = costs.before_mark + costs.mark;
  notes.add(std::array{LockStep{lock, costs.before_mark, name, What::take},
                       LockStep{lock, marked, name, What::let_go}},
            marked + costs.after_mark);
}

}  // namespace e4r::allocator
