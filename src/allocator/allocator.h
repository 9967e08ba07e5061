// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/policy.h"
#include "allocator/preallocations.h"
#include "allocator/request.h"
#include "allocator/stream_goals.h"
#include "state/fs_state.h"

namespace e4r::allocator {

// Everything a decision shows to the outside: what the closing trace event carries.
struct Decision {
  bool prealloc = false;  // served from a preallocation, without a search
  bool success = false;
  state::Extent orig, goal, result;  // result.len 0: no space
  std::uint32_t goal_len = 0;        // clusters; of the goal before a rung trimmed it
  std::uint32_t found = 0;
  std::uint32_t groups_scanned = 0;
  mb::Criterion criterion = mb::Criterion::unknown;  // of a search
  std::uint32_t flags = 0;
  std::uint32_t tail = 0;
  std::uint32_t broken = 0;
  std::uint64_t block = 0;  // first block handed out
  std::uint32_t len = 0;    // clusters handed out; the rest of `result` is preallocated
};

// A recorded decision that the allocator is to end with, whatever it would choose itself. The
// result lies inside its group (Intake).
struct Recorded {
  bool prealloc = false;
  state::Extent goal = {}, result = {};
  std::uint32_t flags = 0;
  std::uint32_t found = 0;  // modulo 65536
  mb::Criterion criterion = mb::Criterion::unknown;
  std::uint32_t goal_len = 0;  // clusters; what normalisation made it; 0: not recorded
  std::optional<std::uint32_t> placed_at = {};  // first file block of the preallocation made of it
  // The goal's length may be less than normalisation made it.
  [[nodiscard]] bool trimmed() const {
    return criterion == mb::Criterion::cr1_5 || criterion == mb::Criterion::best_avail;
  }
};

// What the model chose itself in a decision that was then put right.
struct OwnChoice {
  bool prealloc = false;
  state::Extent goal, result;  // result.len 0: nothing was found, or nothing searched for
};

// How a decision was steered by the trace.
struct Steering {
  const Recorded* recorded = nullptr;  // in; null: the model decides alone
  bool fit_size = false;               // in; choose the size step that gives recorded->goal
  Inputs inputs;                       // out; what was used, for replays of other policies
  bool forced = false;                 // out; the recorded result was put in place of the model's
  OwnChoice own;                       // out; the model's, when forced
  std::uint32_t conflicts = 0;         // out; forced clusters that the model held in use already
};

// Multiblock allocation as ext4_mb_new_blocks does it (Linux 6.1), under any policy's ladder. One
// allocator works on one state; the counters are the kernel's mb_stats.
class Allocator {
 public:
  Allocator(state::FsState& state, const Policy& policy, const Tunables& tunables);

  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // Serves one request, of at least one cluster. `steering` may be null.
  Decision allocate(const Request& request, Steering* steering);

  // Whom to tell the steps of the next decisions; null: nobody.
  void observe(SearchObserver* observer) { observer_ = observer; }

  // Releases the inode's preallocations (ext4_discard_preallocations): all, or the `needed` least
  // recently used ones when that is not 0.
  void discard_inode(std::uint64_t ino, std::uint32_t needed) {
    preallocs_.discard_inode(ino, needed);
  }

  // Generates the group's buddy if there is none.
  void load_group(std::uint32_t group);
  // The same for somebody who is not allocating: the lazy-init thread, a look at mb_groups. The
  // thread reads bitmaps in batches of mb_prefetch groups, from group 0 on, and generates the
  // buddies of some (ext4_run_li_request, Linux 6.1). Without ext4_prefetch_bitmaps in the trace,
  // the first group that is loaded of a batch is all that shows the whole of it to be read.
  void load_by_others(std::uint32_t group);
  // Bitmaps of the groups [first, next), round the end, were read by that thread.
  void mark_read(std::uint32_t first, std::uint32_t next);

  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const Policy& policy() const { return policy_; }
  [[nodiscard]] const Tunables& tunables() const { return tunables_; }
  [[nodiscard]] state::FsState& state() { return state_; }

 private:
  void choose_mode(const Request& request, Search& search, Steering* steering);
  void set_goal(const Request& request, Search& search, Steering* steering);
  SizeStep fitted_step(const Request& request, const Search& search,
                       const state::InodePreallocs* preallocs, const Recorded& recorded,
                       SizeStep first);
  [[nodiscard]] bool leads_to(const Search& search, const Normalized& goal,
                              const Recorded& recorded, std::uint64_t ino);
  state::Prealloc* agreed_prealloc(const Search& search, state::Prealloc* pa,
                                   Steering& steering) const;
  void search_space(const Request& request, Search& search, state::Prealloc*& pa,
                    Steering* steering);
  state::Prealloc* new_preallocation(const Request& request, Search& search);
  bool place_best(Search& search) const;
  void collect(const Search& search);
  void force(Search& search, Steering& steering);

  state::FsState& state_;
  const Policy& policy_;
  Tunables tunables_;
  Counters counters_;
  Preallocations preallocs_;
  StreamGoals streams_;
  SearchObserver* observer_ = nullptr;
  std::vector<std::uint64_t> held_;  // of a forced result, what was in use; empty: nothing was
};

}  // namespace e4r::allocator
