// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/decision.h"
#include "allocator/guide.h"
#include "allocator/policy.h"
#include "allocator/preallocations.h"
#include "allocator/request.h"
#include "allocator/stream_goals.h"
#include "state/fs_state.h"

namespace e4r::allocator {

// Multiblock allocation as ext4_mb_new_blocks does it (Linux 6.1), under any policy's ladder. One
// allocator works on one state; the counters are the kernel's mb_stats.
class Allocator {
 public:
  Allocator(state::FsState& state, const Policy& policy, const Tunables& tunables);

  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // Serves one request, of at least one cluster. Without a guide it decides alone.
  Decision allocate(const Request& request, Guide* guide = nullptr);

  // What a search for the goal would end with, as far as the loaded groups show; nothing is taken.
  // `search` is one under way, before it had a goal (Guide::size).
  [[nodiscard]] Decision would_find(const Search& search, const Normalized& goal) const;

  // The observer of the next decisions; null: none.
  void observe(SearchObserver* observer) { observer_ = observer; }

  // Releases the inode's preallocations (ext4_discard_preallocations): all, or the `needed` least
  // recently used ones when that is not 0.
  void discard_inode(std::uint64_t ino, std::uint32_t needed) {
    preallocs_.discard_inode(ino, needed);
  }

  // Generates the group's buddy if there is none.
  void load_group(std::uint32_t group);
  // The same for a caller that does not allocate: the lazy-init thread, or a read of mb_groups. The
  // thread reads bitmaps in batches of mb_prefetch groups, from group 0 on, and generates the
  // buddies of some (ext4_run_li_request, Linux 6.1). A trace without ext4_prefetch_bitmaps shows a
  // batch only by the first group of it that is loaded.
  void load_by_others(std::uint32_t group);
  // The buddy of a group that is loaded was generated again, since its page had been reclaimed.
  void note_reload() { ++counters_.buddies_generated; }
  // The lazy-init thread has read the bitmaps of the groups [first, next), past the last group to
  // group 0.
  void mark_read(std::uint32_t first, std::uint32_t next);

  // Decides by these tunables from now on. What a mount settles stays (Decider::retune).
  void retune(const Tunables& tunables);

  // What was there before the first request; false for a preallocation that cannot have been.
  bool plant(const PlantedPrealloc& planted) { return preallocs_.plant(planted); }
  void plant(const std::vector<PlantedStreamGoal>& planted) { streams_.plant(planted); }

  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const Policy& policy() const { return policy_; }
  [[nodiscard]] const Tunables& tunables() const { return tunables_; }
  [[nodiscard]] state::FsState& state() { return state_; }
  [[nodiscard]] const state::FsState& state() const { return state_; }
  // The Error: the first thing that a policy from a file did and must not.
  [[nodiscard]] Status status() const {
    return fault_.what == Search::Fault::What::none ? Status() : told_fault();
  }

 private:
  [[nodiscard]] Error told_fault() const;
  [[nodiscard]] Mode choose_mode(const Request& request, bool has_prealloc, Search& search);
  [[nodiscard]] SizeStep set_goal(const Request& request, Search& search);
  state::Prealloc* aligned(Search& search, state::Prealloc* pa) const;
  state::Prealloc* agreed(Search& search, state::Prealloc* pa) const;
  Decision tried(Search& trial) const;
  bool passes_over(const Search& begun, const Search& refused) const;
  void search_guided(Search& search);
  void search_space(const Request& request, Search& search, state::Prealloc*& pa);
  void search_trimmed(Search& search);
  state::Prealloc* new_preallocation(const Request& request, Search& search);
  bool place_best(Search& search) const;
  void collect(const Search& search);
  void impose(Search& search);

  state::FsState& state_;
  const Policy& policy_;
  Tunables tunables_;
  Counters counters_;
  Preallocations preallocs_;
  StreamGoals streams_;
  Search::Fault fault_;
  SearchStart start_;
  SearchObserver* observer_ = nullptr;
  std::vector<std::uint64_t> held_;  // of a dictated result, what was in use; empty: nothing was
};

}  // namespace e4r::allocator
