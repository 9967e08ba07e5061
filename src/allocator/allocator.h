// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/decision.h"
#include "allocator/policy.h"
#include "allocator/preallocations.h"
#include "allocator/request.h"
#include "allocator/stream_goals.h"
#include "state/fs_state.h"

namespace e4r::allocator {

// Multiblock allocation as in ext4_mb_new_blocks (Linux 6.1), with the ladder of any policy. An
// allocator works on one state. It has the counters of the kernel's mb_stats.
class Allocator {
 public:
  Allocator(state::FsState& state, const Policy& policy, const Tunables& tunables);

  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;
  // Makes this allocator equal to `other`, except for its state and its observer. Both have the
  // same policy and tunables.
  void copy_from(const Allocator& other);

  // Serves a request of at least one cluster. Without a guide, the allocator makes every choice
  // itself.
  Decision allocate(const Request& request, Guide* guide = nullptr);

  // Returns the decision that a search for the goal would reach. Changes nothing. `search` is in
  // progress and has no goal yet (Guide::size).
  [[nodiscard]] Decision would_find(const Search& search, const Normalized& goal) const;

  // Whether a decision made now would be the one that the guide dictates. nullopt if a rung of the
  // policy would itself load groups, which a trial does not do. `thorough` also tries to skip
  // groups that the search only scanned. Changes nothing.
  [[nodiscard]] std::optional<bool> would_decide_as_dictated(const Request& request, Guide& guide,
                                                             bool thorough);

  // Sets the observer of later decisions; null removes it.
  void observe(SearchObserver* observer) { observer_ = observer; }

  // Releases preallocations of the inode (ext4_discard_preallocations): the `needed` least recently
  // used ones, or all when `needed` is 0.
  void discard_inode(std::uint64_t ino, std::uint32_t needed) {
    preallocs_.discard_inode(ino, needed);
  }

  // Generates the group's buddy unless it is loaded.
  void load_group(std::uint32_t group);
  // Loads the group for a caller that does not allocate: the lazy-init thread, or a read of
  // mb_groups. The lazy-init thread reads bitmaps in batches of mb_prefetch groups, starting at
  // group 0, and generates some of their buddies (ext4_run_li_request, Linux 6.1). A trace without
  // ext4_prefetch_bitmaps shows only the first group of a batch that is loaded.
  void load_by_others(std::uint32_t group);
  // Counts a buddy of a loaded group that was regenerated because its page had been reclaimed.
  void note_reload(std::uint32_t group);
  // Records that the buddy of a loaded group was reclaimed (Decider::reclaim).
  void reclaim(std::uint32_t group);
  // Records that the lazy-init thread has read the bitmaps of the groups [first, next). The range
  // may wrap around the last group.
  void mark_read(std::uint32_t first, std::uint32_t next);

  // Uses these tunables from now on, except for the tunables that a mount fixes (Decider::retune).
  void retune(const Tunables& tunables);

  // Adds a preallocation or a stream goal that existed before the first request. Returns false for
  // a preallocation that cannot have existed.
  bool plant(const PlantedPrealloc& planted) { return preallocs_.plant(planted); }
  void plant(const std::vector<PlantedStreamGoal>& planted) { streams_.plant(planted); }

  // Goals and positions that requests leave for later requests. For callers that save or restore
  // them.
  [[nodiscard]] const StreamGoals& streams() const { return streams_; }
  [[nodiscard]] StreamGoals& own_streams() { return streams_; }
  [[nodiscard]] SearchStart& search_start() { return start_; }

  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const Policy& policy() const { return policy_; }
  [[nodiscard]] const Tunables& tunables() const { return tunables_; }
  [[nodiscard]] state::FsState& state() { return state_; }
  [[nodiscard]] const state::FsState& state() const { return state_; }
  // The Error names the first rule that a policy from a file broke.
  [[nodiscard]] Status status() const {
    return fault_.what == Search::Fault::What::none ? Status() : describe_fault();
  }

 private:
  [[nodiscard]] Error describe_fault() const;
  [[nodiscard]] Mode choose_mode(const Request& request, bool has_prealloc, Search& search);
  state::Prealloc* find_prealloc(const Request& request, Search& search, Mode& mode);
  [[nodiscard]] SizeStep set_goal(const Request& request, Search& search);
  state::Prealloc* keep_if_aligned(Search& search, state::Prealloc* pa) const;
  state::Prealloc* keep_if_accepted(Search& search, state::Prealloc* pa) const;
  Decision try_search(Search& trial) const;
  Decision try_skipping(const Search& begun, const PassedOver& passed, Search& trial) const;
  PassedOver find_passed_over(const Search& begun, std::uint32_t group, Guide& guide, Search& trial,
                              std::vector<PassedOver>* tried = nullptr) const;
  PassedOver find_passed_visits(const Search& begun, Guide& guide, Search& trial);
  PassedOver find_any_passed(const Search& begun, std::uint32_t group, Guide& guide, Search& trial);
  void read_stream(const Request& request, Search& search) const;
  void search_guided(Search& search);
  void search_space(const Request& request, Search& search, state::Prealloc*& pa);
  void search_trimmed(Search& search);
  state::Prealloc* new_preallocation(const Request& request, Search& search);
  bool place_best(Search& search) const;
  void load_reclaimed();
  void collect(const Search& search);
  void take_dictated(Search& search);

  state::FsState& state_;
  const Policy& policy_;
  Tunables tunables_;
  Counters counters_;
  Preallocations preallocs_;
  StreamGoals streams_;
  Search::Fault fault_;
  SearchStart start_;
  SearchObserver* observer_ = nullptr;
  // How many sets of visits find_passed_visits() may still try. Each decision adds some, which
  // bounds the time for a trace that no set explains.
  static constexpr std::uint64_t kMostSkips = 1 << 16;
  std::uint64_t skips_left_ = kMostSkips;
  // Clusters of a dictated result that were already in use; empty if all were free.
  std::vector<std::uint64_t> held_;
  std::vector<std::uint32_t> reclaimed_;  // groups, since the last request
};

}  // namespace e4r::allocator
