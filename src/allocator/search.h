// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <utility>

#include "allocator/counters.h"
#include "allocator/lock_steps.h"
#include "allocator/observer.h"
#include "allocator/tunables.h"
#include "state/fs_state.h"

namespace e4r::allocator {

class Guide;

inline constexpr std::uint32_t kNoGroup = UINT32_MAX;
// The start of a goal that names a group alone: the goals of streams since 6.17. Printed as -1.
inline constexpr std::uint32_t kNoStart = UINT32_MAX;

// One allocation request on its way through the ladder (struct ext4_allocation_context).
struct Search {
  enum class Status : std::uint8_t { going, found, stopped };
  struct Fault {
    enum class What : std::uint8_t { none, no_such_group, bad_goal_len };
    What what = What::none;
    mb::Criterion criterion = mb::Criterion::unknown;  // of the rung
    std::uint32_t value = 0;                           // the group, or the length in clusters
  };

  Search(state::FsState& fs, const Tunables& knobs, Counters& count)
      : state(fs), tunables(knobs), counters(count) {}

  state::FsState& state;
  const Tunables& tunables;
  Counters& counters;

  std::uint64_t ino = 0;  // the requesting inode and CPU
  std::uint32_t cpu = 0;
  Extent orig;                    // the request
  Extent goal;                    // the wanted extent; a trimming criterion may shorten it
  Extent best;                    // the best candidate so far, then the clusters handed out
  Extent taken;                   // the clusters taken from the bitmap, including the preallocation
  std::uint32_t goal_len = 0;     // goal.len as normalisation set it
  std::uint32_t flags = 0;        // of namespace mb
  std::uint32_t order2 = 0;       // order of a power-of-two goal that the buddy can serve, or 0
  std::uint32_t groups = 0;       // number of usable groups; files without extents use the low ones
  std::uint32_t list_groups = 0;  // groups that the lists may give: `groups`, or all (6.1)
  std::uint64_t stripe = 0;       // clusters; 0: no stripe; 6.1 takes blocks for clusters
  std::uint32_t extsize = 0;      // clusters; 0: the request need not be aligned (align.h)
  std::uint32_t linear_left = 0;  // groups to walk before the lists are asked
  std::uint32_t found = 0;        // extents examined
  std::uint32_t groups_scanned = 0;
  std::uint32_t tail = 0;
  std::uint32_t split_order = 0;  // order of the chunk that was split; 0: no chunk was split
  mb::Criterion criterion = mb::Criterion::cr0;
  Status status = Status::going;
  // A trial only shows what would be found: it takes nothing and loads no groups.
  bool trial = false;
  std::uint32_t passed_over = kNoGroup;  // a group to skip: its lock was held
  const HeldLocks* held = nullptr;       // locks that others hold; null: no locks
  Guide* guide = nullptr;                // null: the allocator decides alone
  bool refused = false;                  // the guide refused a choice, so the search is over
  // A forbidden answer of `choose` of a policy from a file. The search continues as if `choose` had
  // found nothing.
  Fault fault;
  std::uint32_t conflicts = 0;         // clusters of a dictated result that were already in use
  SearchObserver* observer = nullptr;  // may be null

  void note(Fault::What what, std::uint32_t value) { fault = {what, criterion, value}; }

  // Resets this search to `begun`, the state from which it started.
  void restart(const Search& begun);

  // Loads the group, and the groups that share its page, if it has no buddy yet.
  void load(std::uint32_t group) {
    if (!state.group(group).need_init) return;
    counters.buddies_generated +=
        state.load(group, [this](std::uint32_t loaded) { tell(&SearchObserver::loaded, loaded); });
  }

  // Reports a step to the observer, if there is one.
  template <class... P, class... A>
  void tell(void (SearchObserver::*step)(P...), A&&... what) const {
    if (observer != nullptr) (observer->*step)(std::forward<A>(what)...);
  }
};

inline void Search::restart(const Search& begun) {
  goal = begun.goal;
  best = begun.best;
  taken = begun.taken;
  flags = begun.flags;
  order2 = begun.order2;
  linear_left = begun.linear_left;
  found = begun.found;
  groups_scanned = begun.groups_scanned;
  criterion = begun.criterion;
  status = begun.status;
  refused = false;
}

}  // namespace e4r::allocator
