// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "allocator/counters.h"
#include "allocator/observer.h"
#include "allocator/tunables.h"
#include "ext4/criterion.h"
#include "state/fs_state.h"

namespace e4r::allocator {

class Guide;

inline constexpr std::uint32_t kNoGroup = UINT32_MAX;

// The visits at which a search skips a group because another CPU holds its lock. A search may visit
// a group once in each criterion that tries locks.
class PassedOver {
 public:
  static constexpr std::size_t kMost = 6;  // groups
  static constexpr unsigned kMostVisits = 16;

  // A group, and a set bit for each visit that skips it. Bit 0 is the first visit.
  struct Entry {
    std::uint32_t group = kNoGroup;
    std::uint16_t visits = 0;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  [[nodiscard]] bool empty() const { return entries_.front().group == kNoGroup; }
  // One entry for each group, in the order in which they were added.
  [[nodiscard]] std::span<const Entry> entries() const {
    const auto end = std::ranges::find(entries_, kNoGroup, &Entry::group);
    return std::span(entries_).first(static_cast<std::size_t>(end - entries_.begin()));
  }
  // Adds the group's first visit that is not in the set. Returns false if the set is full.
  bool add(std::uint32_t group) {
    Entry* entry = find_or_make(group);
    return entry != nullptr && add(group, static_cast<unsigned>(std::countr_one(entry->visits)));
  }
  // Adds one visit of the group, counted from 0. Returns false if the set is full.
  bool add(std::uint32_t group, unsigned visit) {
    Entry* entry = visit < kMostVisits ? find_or_make(group) : nullptr;
    if (entry == nullptr) return false;
    entry->group = group;
    entry->visits = static_cast<std::uint16_t>(entry->visits | 1u << visit);
    return true;
  }

 private:
  Entry* find_or_make(std::uint32_t group) {
    for (Entry& entry : entries_)
      if (entry.group == group || entry.group == kNoGroup) return &entry;
    return nullptr;
  }
  std::array<Entry, kMost> entries_;
};

// A visit of a group by a search, in a criterion that tries locks.
struct Visit {
  std::uint32_t group = 0;
  bool scanned = false;
};

// The value of Search::continues_from that means: continue at the latest goal of the stream.
inline constexpr std::uint64_t kLatestGoal = UINT64_MAX;
// The start of a goal that names only a group, as the goals of streams do since 6.17. Printed as
// -1.
inline constexpr std::uint32_t kNoStart = UINT32_MAX;

// One allocation request and its progress through the ladder (struct ext4_allocation_context).
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
  Extent orig;                 // the request
  Extent goal;                 // the wanted extent; a trimming criterion may shorten it
  Extent best;                 // the best candidate so far, then the clusters handed out
  Extent taken;                // the clusters taken from the bitmap, including those preallocated
  std::uint32_t goal_len = 0;  // goal.len as normalisation set it
  std::uint32_t flags = 0;     // of namespace mb
  std::uint32_t order2 = 0;    // order of a power-of-two goal that the buddy can serve, or 0
  std::uint32_t groups = 0;    // groups that the file can use; without extents, only low ones
  std::uint32_t list_groups = 0;  // groups that the lists may give: `groups`, or all (6.1)
  std::uint64_t stripe = 0;       // clusters (6.1 uses the number of blocks); 0: no stripe
  std::uint32_t extsize = 0;      // clusters; 0: the request need not be aligned (kernel.h)
  std::uint32_t linear_left = 0;  // groups to walk before the lists are asked
  std::uint32_t found = 0;        // extents examined
  std::uint32_t groups_scanned = 0;
  std::uint32_t tail = 0;
  std::uint32_t split_order = 0;  // order of the chunk that was split; 0: no chunk was split
  std::uint32_t last_optimal = kNoGroup;  // the last group from CR1's tree (5.13 to 5.19)
  mb::Criterion criterion = mb::Criterion::cr0;
  Status status = Status::going;
  // A trial only determines what a search would find: it takes nothing, and it unloads the groups
  // that it loaded (Allocator::try_search).
  bool trial = false;
  bool unsure = false;  // in a trial, a rung would itself have loaded groups
  std::vector<state::FsState::Unloaded> loaded_for_trial;  // groups that a trial has loaded
  PassedOver passed_over;
  std::vector<Visit>* visits = nullptr;  // where to record the visits; null: nowhere
  // The request whose search set the stream goal that this search uses; 0: no request did.
  std::uint64_t continues_from = kLatestGoal;
  const HeldLocks* held = nullptr;  // locks that others hold; null: no locks
  Guide* guide = nullptr;           // null: the allocator decides alone
  bool loses_best = false;  // the best extent is no longer free when the search comes back for it
  bool refused = false;     // the guide refused a choice, so the search is over
  bool doubted = false;     // the search is over because the guide doubted a choice
  bool settled = false;     // the guide has been asked: take what the search finds
  // A rule that `choose` of a plugin policy broke. The search continues as if `choose` had found
  // nothing.
  Fault fault;
  std::uint32_t conflicts = 0;         // clusters of a dictated result that were already in use
  SearchObserver* observer = nullptr;  // may be null

  void note(Fault::What what, std::uint32_t value) { fault = {what, criterion, value}; }

  // Resets this search to `begun`, the state from which it started.
  void restart(const Search& begun);

  // Loads the group, and the groups that share its page, if it has no buddy yet.
  void load(std::uint32_t group) {
    if (std::exchange(state.group(group).reclaimed, false)) {
      ++counters.buddies_generated;
      return state.reload(group);
    }
    if (!state.group(group).need_init) return;
    counters.buddies_generated +=
        state.load(group, [this](std::uint32_t loaded) { tell(&SearchObserver::on_load, loaded); });
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
  last_optimal = begun.last_optimal;
  found = begun.found;
  groups_scanned = begun.groups_scanned;
  criterion = begun.criterion;
  status = begun.status;
  refused = doubted = false;
}

// The group in which every search begins, including those for streams, metadata and group
// preallocations. Stock kernels use kStartAtGoal. kStartAtCursor is the posting "ext4: add optional
// rotating block allocation policy" (linux-ext4, 4 February 2026, mount option rotalloc) in the
// form of kernel/patches/rotalloc. The other values exist for studies: some are compared with it
// (docs/studies/rotalloc.md), some spread writers (docs/studies/contention.md).
struct StartRules {
  enum class From : std::uint8_t {
    goal,  // the request's goal, or its stream's goal
    // the group where the file system's last search ended; 0 after the mount and after a failed
    // search
    cursor,
    first,  // group 0
    // The goal's group plus a fixed distance for each CPU or inode (spread_groups), wrapping around
    // after the last group. A stream continues at its own goal.
    cpu,
    inode,
  };
  From from;
  // True: the goal that is tried before the search moves to that group, at the same cluster of the
  // group. False: the goal is tried at its own place.
  bool moves_goal;

  // Whether a stream continues at its own goal.
  [[nodiscard]] constexpr bool keeps_streams() const {
    return from != From::cursor && from != From::first;
  }
};
inline constexpr StartRules kStartAtGoal = {StartRules::From::goal, false};
inline constexpr StartRules kStartAtCursor = {StartRules::From::cursor, true};  // the posting
inline constexpr StartRules kStartAtCursorBehindGoal = {StartRules::From::cursor, false};
inline constexpr StartRules kStartAtFirstGroup = {StartRules::From::first, false};
inline constexpr StartRules kStartByCpu = {StartRules::From::cpu, false};
inline constexpr StartRules kStartByInode = {StartRules::From::inode, false};

// Maps `number` to a group number below `groups`. Consecutive numbers give distant results.
// Computed like the kernel's hash_32() and reciprocal_scale().
[[nodiscard]] constexpr std::uint32_t spread_groups(std::uint64_t number, std::uint32_t groups) {
  constexpr std::uint32_t kGoldenRatio32 = 0x61c88647;
  const auto hash = static_cast<std::uint32_t>(number) * kGoldenRatio32;
  return static_cast<std::uint32_t>(std::uint64_t{hash} * groups >> 32);
}

class SearchStart {
 public:
  explicit SearchStart(const StartRules& rules) : rules_(rules) {}

  // Moves the goal to the group in which searches begin, if the rules move the goal that is tried
  // first. Call this before the goal is tried.
  void aim_goal(Search& search) const {
    if (rules_.moves_goal) aim(search);
  }
  // Moves the search to the group in which searches begin, unless they begin at the goal. Call this
  // before groups are searched, after a stream has set its goal.
  void aim(Search& search) const {
    using From = StartRules::From;
    if (rules_.from == From::goal) return;
    if (rules_.from == From::cpu || rules_.from == From::inode)
      return spread(search, rules_.from == From::cpu ? search.cpu : search.ino);
    // The cursor may lie beyond the groups that a file without extents can use.
    const bool reaches = rules_.from == From::cursor && cursor_ < search.groups;
    search.goal.group = reaches ? cursor_ : 0;
  }
  // Ends a search. `group` is the group in which it found space, or 0 if it found nothing.
  void finish(std::uint32_t group) { cursor_ = group; }
  [[nodiscard]] std::uint32_t cursor() const { return cursor_; }

 private:
  static void spread(Search& search, std::uint64_t number) {
    if ((search.flags & mb::stream_alloc) != 0) return;
    const std::uint32_t group = search.goal.group < search.groups ? search.goal.group : 0;
    const std::uint64_t on = std::uint64_t{group} + spread_groups(number, search.groups);
    search.goal.group = static_cast<std::uint32_t>(on % search.groups);
  }

  StartRules rules_;
  std::uint32_t cursor_ = 0;
};

// Rules for which groups read-ahead loads, and when (ext4_mb_prefetch, ext4_mb_prefetch_fini and
// their callers).
struct ReadAheadRules {
  // True: searches read ahead (since 5.9).
  bool reads = true;
  // True: when a batch is finished, each group is judged by its own descriptor. False: by the
  // descriptor of the next group.
  bool by_own_descriptor;
  // True: groups marked BLOCK_UNINIT are also initialised, without I/O.
  bool uninit;
  // True: the buddies of every batch are generated. False: only the buddies of the last batch.
  bool every_batch;
  // True: the buddies of a batch are generated even if none of its bitmaps had to be read.
  bool without_reads;
  // Matters if the last rung reads no batch. True: no buddies are generated at the end. False: the
  // buddies of an earlier rung's batch are generated, counting back from the group where the last
  // rung began.
  bool forgotten_by_next_rung;
};

inline constexpr ReadAheadRules kNoReadAhead = {.reads = false,
                                                .by_own_descriptor = false,
                                                .uninit = false,
                                                .every_batch = false,
                                                .without_reads = false,
                                                .forgotten_by_next_rung = false};
inline constexpr ReadAheadRules kReadAhead6_1 = {.by_own_descriptor = false,
                                                 .uninit = false,
                                                 .every_batch = false,
                                                 .without_reads = false,
                                                 .forgotten_by_next_rung = false};
inline constexpr ReadAheadRules kReadAhead6_4 = {.by_own_descriptor = true,
                                                 .uninit = false,
                                                 .every_batch = false,
                                                 .without_reads = false,
                                                 .forgotten_by_next_rung = false};
inline constexpr ReadAheadRules kReadAheadCr1_5 = {.by_own_descriptor = true,
                                                   .uninit = true,
                                                   .every_batch = true,
                                                   .without_reads = true,
                                                   .forgotten_by_next_rung = false};
inline constexpr ReadAheadRules kReadAhead6_5 = {.by_own_descriptor = true,
                                                 .uninit = true,
                                                 .every_batch = false,
                                                 .without_reads = true,
                                                 .forgotten_by_next_rung = false};
inline constexpr ReadAheadRules kReadAhead6_8 = {.by_own_descriptor = true,
                                                 .uninit = true,
                                                 .every_batch = false,
                                                 .without_reads = true,
                                                 .forgotten_by_next_rung = true};

// The read-ahead of one search.
class ReadAhead {
 public:
  ReadAhead(Search& search, const ReadAheadRules& rules) : search_(search), rules_(rules) {}

  // Call this when a rung begins at `group`.
  void begin(std::uint32_t group);
  // Call this when the search looks at `group`. If read-ahead continues at that group, reads the
  // next batch. In a fast rung (`fast`), reads only until mb_prefetch_limit bitmaps have been read.
  void at(std::uint32_t group, bool fast);
  // Call this when the search is over. Generates the buddies of the last batch, backwards.
  void finish();
  // Whether looking at a group can still trigger read-ahead.
  [[nodiscard]] bool pending() const;

 private:
  Search& search_;
  const ReadAheadRules& rules_;
  std::uint32_t next_ = 0;   // the group at which read-ahead continues
  std::uint32_t end_ = 0;    // the group after the last batch
  std::uint32_t count_ = 0;  // number of groups in the last batch
  std::uint64_t reads_ = 0;
};

}  // namespace e4r::allocator
