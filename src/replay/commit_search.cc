// SPDX-License-Identifier: GPL-2.0-or-later
// The part of OrderSearch that finds how far a commit had progressed.
#include <algorithm>
#include <iterator>
#include <map>

#include "replay/order_search.h"
#include "replay/trial.h"

namespace e4r::replay {

namespace {

// The clusters that belong to freed extents in `own` but not in `other`. Returns nullopt if `other`
// has freed clusters that `own` does not have.
std::optional<std::vector<Freed>> without(const state::FreedList::Group& own,
                                          const state::FreedList::Group& other) {
  std::map<std::uint32_t, std::uint32_t> rest;  // ends, by start
  for (const Freed& entry : own.entries) rest[entry.start] = entry.end();
  // Joins adjacent ranges, since other extents may have merged.
  for (auto range = rest.begin(); range != rest.end();) {
    const auto next = std::next(range);
    if (next == rest.end() || range->second != next->first) {
      range = next;
      continue;
    }
    range->second = next->second;
    rest.erase(next);
  }
  for (const Freed& entry : other.entries) {
    auto range = rest.upper_bound(entry.start);
    if (range == rest.begin() || entry.end() > (--range)->second) return std::nullopt;
    const std::uint32_t end = range->second;
    range->second = entry.start;
    if (entry.start == range->first) rest.erase(range);
    if (entry.end() < end) rest[entry.end()] = end;
  }
  std::vector<Freed> out;
  out.reserve(rest.size());
  for (const auto& [start, end] : rest)
    out.push_back({own.entries.front().group, start, end - start, 0, 0});
  return out;
}

// Returns a function that tells whether a freed extent is in a group that the decision names.
auto names_group(const Op& op) {
  return [&op](const Freed& entry) {
    return entry.group == op.closing.result.group || entry.group == op.closing.goal.group;
  };
}

}  // namespace

// Doubts a part of a commit if many of the searches that follow have another result. Preallocation
// hits say nothing about a commit.
void OrderSearch::test_parts(bool differs) {
  constexpr unsigned kSearches = 12, kMostDiffering = 3;
  for (Test& test : tests_) {
    ++test.searches;
    test.differing += differs ? 1 : 0;
  }
  while (!tests_.empty() && tests_.front().searches >= kSearches) {
    if (tests_.front().differing > kMostDiffering && doubted_.insert(tests_.front().request).second)
      has_new_doubt_ = true;
    tests_.pop_front();
  }
}

// Keeps an operation for the search for another order of frees.
void OrderSearch::note_step(const Op& op) {
  if (op.kind == Op::Kind::commit_flushing || op.kind == Op::Kind::end_commit) {
    if (const auto transaction = model().committing()) {
      frees_.note_returned(*transaction, UINT64_MAX);
      note_freed({UINT64_MAX, *transaction, 0, 0, 0});
    }
  } else if (op.kind == Op::Kind::unlink_until) {
    if (const auto transaction = model().committing()) frees_.note_unlinked(*transaction, op.count);
  } else if (op.kind != Op::Kind::free || !model().state().geometry().frees_at_once(op.file_data)) {
    frees_.note(op, model().state().freed(), model().running());
    if (op.kind == Op::Kind::free)
      note_freed({op.ordinal, model().running(), op.group, op.start,
                  static_cast<std::uint32_t>(op.count)});
  }
}

// Looks for another order of the frees in the group of the allocation's result. With that order,
// the allocation's recorded outcome must be possible when the commit in progress has returned only
// extents that were freed before event `less_than`. Keeps the best such order. Returns the event up
// to which the returned extents were freed; 0 if no extent needs to be returned.
std::optional<std::uint64_t> OrderSearch::reorder_frees(const Op& op, std::uint64_t less_than) {
  constexpr std::size_t kMostOrders = 32, kMostEntries = 8192;
  if (!model().committing() || op.closing.prealloc || op.closing.result.len == 0)
    return std::nullopt;
  state::FsState& state = model().own_state();
  const std::uint32_t group = op.closing.result.group;
  const state::FreedList::Group own = state.freed().group(group);
  const std::vector<FreeOrder::Other> others = frees_.find_others(group, own, kMostOrders);
  const FreeOrder::Other* best = nullptr;
  std::vector<Freed> given;  // in the best order, earlier parts of the commit have returned these
  for (const FreeOrder::Other& other : others) {
    const auto more = without(own, other.freed);
    Trial trial(state);
    if (!more || !std::ranges::all_of(*more, [&](const Freed& range) { return trial.give(range); }))
      continue;
    std::optional<std::uint64_t> freed = 0;
    if (more->empty() || !agrees(op))
      freed =
          find_commit(op, names_group(op), {.most = kMostEntries, .other = &other.freed.entries});
    if (!freed || *freed >= less_than) continue;
    less_than = *freed;
    best = &other;
    given = *more;
  }
  if (best == nullptr) return std::nullopt;
  state.own_freed().set_group(group, best->freed);
  for (const Freed& range : given) {
    (void)state.give(state.group(group), range.start, range.count);
    note_change(range, true);
  }
  frees_.keep(group, *best);
  at_.found.move_free(best->event, best->after);
  note_reordered();
  return less_than;
}

// Schedules a part of the commit in progress before the allocation: it returns the extents freed up
// to event `freed`. Does nothing if `freed` is 0.
Status OrderSearch::commit_before(const Op& op, std::uint64_t freed) {
  if (freed == 0) return {};
  // Nothing has differed since the last part, so that one was right.
  if (!tests_.empty() && tests_.back().differing == 0) tests_.pop_back();
  tests_.push_back({op.request});
  frees_.note_returned(*model().committing(), freed);
  note_freed({freed, *model().committing(), 0, 0, 0});
  at_.found.commit_before(op.request, freed);
  progress_.add_given(at_.event, freed);
  note_commit(freed);
  Op commit = op_before(op, Op::Kind::commit_until);
  commit.count = freed;
  return Follow::advance(commit);
}

// Records that the commit in progress now returns the extents freed up to event `freed`.
void OrderSearch::note_commit(std::uint64_t freed) {
  const std::optional<std::uint64_t> transaction = model().committing();
  for (const Freed& entry : model().state().freed().entries()) {
    if (!transaction || entry.transaction != *transaction || entry.freed_at > freed) break;
    note_change(entry, true);
  }
}

// Records that the commit in progress has returned an extent, and so all extents before that extent
// in the list.
void OrderSearch::note_returned(const Op& op) {
  const std::optional<std::uint64_t> transaction = model().committing();
  if (!transaction) return;
  for (const Freed& entry : model().state().freed().entries_of(op.group))
    if (entry.transaction == *transaction && entry.overlaps(op.start, 1))
      at_.returned = std::max(at_.returned, entry.freed_at);
}

// Records the first extent of the decision's group that the commit in progress cannot have returned
// yet, because returning it would change the recorded outcome. `agreed` is the result of agrees()
// for the present state, if the caller has it.
void OrderSearch::note_missing(const Op& op, std::optional<bool> agreed) {
  const std::optional<std::uint64_t> transaction = model().committing();
  if (!transaction || model().policy().kernel.freed != state::FreedMerging::parent) return;
  if (at_.trials_left == 0) return;
  if (!(agreed ? *agreed : agrees(op))) return note_given_too_early(op);
  state::FsState& state = model().own_state();
  std::vector<Freed> entries;
  for (const Freed& entry : state.freed().entries_of(op.closing.result.group))
    if (entry.transaction == *transaction) entries.push_back(entry);
  Trial trial(state);
  const auto agrees_with = [&](std::size_t count) {
    trial.undo_to(count);
    while (trial.changes() < count)
      if (!trial.give(entries[trial.changes()])) return true;
    return agrees(op);
  };
  // Finds by bisection the least number of returned extents that changes the outcome, assuming that
  // all larger numbers change it, too.
  std::size_t low = 0, high = entries.size();
  if (high == 0 || agrees_with(high)) return;
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (agrees_with(middle) ? low : high) = middle;
  }
  progress_.add_missing(at_.event, entries[low].freed_at);
}

// Records the first extent that the search let the commit in progress return too early: the
// recorded outcome needs this extent to be in use.
void OrderSearch::note_given_too_early(const Op& op) {
  state::FsState& state = model().own_state();
  Trial trial(state);
  for (auto change = at_.changes.rbegin(); change != at_.changes.rend(); ++change) {
    if (change->event < commit_began_) return;
    if (change->extent.freed_at == 0) continue;
    if (entries_left_ == 0 || !trial.take(change->extent)) return;
    --entries_left_;
    if (agrees(op)) return progress_.add_missing(op.ordinal, change->extent.freed_at);
  }
}

// Finds the smallest number of extents that the commit in progress must have returned to make the
// recorded outcome possible. Returns the event up to which these extents were freed. First tries
// only those numbers whose last extent is in a group that the decision names, then all numbers.
std::optional<std::uint64_t> OrderSearch::find_commit(const Op& op) {
  constexpr std::size_t kMostTrials = 8192;  // of all numbers
  const std::optional<std::uint64_t> found = find_commit(op, names_group(op), {});
  return found ? found : find_commit(op, [](const Freed&) { return true; }, {.most = kMostTrials});
}

template <class Matters>
std::optional<std::uint64_t> OrderSearch::find_commit(const Op& op, const Matters& matters,
                                                      const Limits& limits) {
  const std::optional<std::uint64_t> transaction = model().committing();
  if (!transaction) return std::nullopt;
  const std::uint64_t missing = at_.found.progress().first_missing(op.ordinal);
  state::FsState& state = model().own_state();
  Trial trial(state);
  std::size_t tried = 0;
  std::optional<std::uint64_t> found;
  // Returns false at the end of the search.
  const auto try_with = [&](const Freed& entry) {
    if (entries_left_ == 0 || ++tried > limits.most || entry.transaction != *transaction ||
        entry.freed_at > limits.last_event || entry.freed_at >= missing || !trial.give(entry))
      return false;
    --entries_left_;
    if (!matters(entry) || !agrees(op)) return true;
    found = entry.freed_at;
    return false;
  };
  if (limits.other == nullptr) {
    (void)std::ranges::all_of(state.freed().entries(), try_with);
    return found;
  }
  auto next = limits.other->begin();
  for (const Freed& entry : state.freed().entries()) {
    for (; next != limits.other->end() && next->freed_at <= entry.freed_at; ++next)
      if (!try_with(*next)) return found;
    if (entry.group != op.closing.result.group && !try_with(entry)) return found;
  }
  return found;
}

// Finds the part of the commit in progress that returned the clusters which the allocation got.
// Returns nullopt if that part does not lead to the recorded outcome.
std::optional<std::uint64_t> OrderSearch::find_needed_commit(const Op& op) {
  const std::optional<std::uint64_t> transaction = model().committing();
  if (!transaction || op.closing.prealloc) return std::nullopt;
  const Taken taken(op);
  std::uint64_t needed = 0;
  for (const Freed& entry : model().state().freed().entries_of(taken.group))
    if (entry.transaction == *transaction && entry.overlaps(taken.start, taken.count))
      needed = std::max(needed, entry.freed_at);
  if (needed == 0) return std::nullopt;
  return find_commit(op, [&](const Freed& entry) { return entry.freed_at == needed; },
                     {.last_event = needed});
}

}  // namespace e4r::replay
