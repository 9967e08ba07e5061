// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "policy/policy.h"
#include "replay/request.h"
#include "state/fs_state.h"

namespace e4r::replay {

// Everything a decision shows to the outside: what the closing trace event carries.
struct Decision {
  bool prealloc = false;  // served from a preallocation, without a search
  bool success = false;
  state::Extent orig, goal, result;  // result.len 0: no space
  std::uint32_t goal_len = 0;        // clusters; of the goal before a rung trimmed it
  std::uint32_t found = 0;
  std::uint32_t groups_scanned = 0;
  trace::Criterion criterion = trace::Criterion::unknown;  // of a search
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
  state::Extent goal, result;
  std::uint32_t flags = 0;
  bool trimmed = false;        // the goal's length may be less than normalisation made it
  std::uint32_t goal_len = 0;  // clusters; what normalisation made it; 0: not recorded
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
  Allocator(state::FsState& state, const policy::Policy& policy, const policy::Tunables& tunables);

  // Serves one request, of at least one cluster. `steering` may be null.
  Decision allocate(const Request& request, Steering* steering);

  // Whom to tell the steps of the next decisions; null: nobody.
  void observe(policy::SearchObserver* observer) { observer_ = observer; }

  // Releases the inode's preallocations (ext4_discard_preallocations): all, or the `needed` least
  // recently used ones when that is not 0.
  void discard_inode(std::uint64_t ino, std::uint32_t needed);

  // Generates the group's buddy if there is none.
  void load_group(std::uint32_t group);
  // The same for somebody who is not allocating: the lazy-init thread, a look at mb_groups. The
  // thread reads bitmaps in batches of mb_prefetch groups, from group 0 on, and generates the
  // buddies of some (ext4_run_li_request, Linux 6.1). Without ext4_prefetch_bitmaps in the trace,
  // the first group that is loaded of a batch is all that shows the whole of it to be read.
  void load_by_others(std::uint32_t group);
  // Bitmaps of the groups [first, next), round the end, were read by that thread.
  void mark_read(std::uint32_t first, std::uint32_t next);

  [[nodiscard]] const policy::Counters& counters() const { return counters_; }
  [[nodiscard]] const policy::Policy& policy() const { return policy_; }
  [[nodiscard]] const policy::Tunables& tunables() const { return tunables_; }
  [[nodiscard]] state::FsState& state() { return state_; }

 private:
  void choose_mode(const Request& request, policy::Search& search, Steering* steering);
  void set_goal(const Request& request, policy::Search& search, Steering* steering);
  SizeStep fitted_step(const Request& request, const policy::Search& search,
                       const state::InodePreallocs* preallocs, const Recorded& recorded,
                       SizeStep first) const;
  state::Prealloc* find_prealloc(const Request& request, const policy::Search& search);
  state::Prealloc* find_inode_prealloc(const Request& request, const policy::Search& search);
  state::Prealloc* find_group_prealloc(const Request& request, const policy::Search& search);
  [[nodiscard]] state::Extent served_from(const policy::Search& search,
                                          const state::Prealloc& pa) const;
  void use_prealloc(policy::Search& search, state::Prealloc& pa);
  state::Prealloc* agreed_prealloc(const policy::Search& search, state::Prealloc* pa,
                                   Steering& steering) const;
  void search_space(const Request& request, policy::Search& search, state::Prealloc*& pa,
                    Steering* steering);
  state::Prealloc* new_preallocation(const Request& request, policy::Search& search);
  bool place_best(policy::Search& search) const;
  bool discard_for(std::uint32_t needed);
  std::uint32_t discard_group(std::uint32_t group);
  void finish_prealloc(const Request& request, policy::Search& search, state::Prealloc& pa);
  void requeue_group_prealloc(const Request& request, state::Prealloc& pa);
  void trim_inode(std::uint64_t ino);
  void collect(const policy::Search& search);
  void force(policy::Search& search, Steering& steering);

  state::FsState& state_;
  const policy::Policy& policy_;
  policy::Tunables tunables_;
  policy::Counters counters_;
  policy::SearchObserver* observer_ = nullptr;
  std::vector<std::uint64_t> held_;  // of a forced result, what was in use; empty: nothing was
  std::uint32_t stream_group_ = 0;   // where the last stream allocation ended up
  std::uint32_t stream_start_ = 0;
};

}  // namespace e4r::replay
