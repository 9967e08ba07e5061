// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/order_search.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "replay/checkpoint.h"
#include "replay/trial.h"

namespace e4r::replay {

namespace {

// How many decided allocations are remembered. This is more than the number of threads that can
// have a pending allocation.
constexpr std::size_t kRemembered = 64;
// How many changes of free space are remembered.
constexpr std::size_t kChanges = 1024;
// How many of these are considered for another order, and how many are moved at once.
constexpr std::size_t kMostOpen = 7;
constexpr int kMostUndone = 3;
// How many trials each decision adds to the search's budget. The budget bounds the time for a trace
// in which many allocations overlap and no order fits.
constexpr std::uint64_t kTrialsPerDecision = 32;
// How many trials a thorough one costs.
constexpr std::uint64_t kThoroughCost = 4096;
// How often, on average, each freed extent of a commit may be given back in trials. This bounds the
// time for a trace in which no order fits.
constexpr std::uint64_t kTriesPerEntry = 64;

bool asks(const Op& op) {
  return op.kind == Op::Kind::allocate && op.closing.seen;
}

// Whether the operation may change what a search finds.
bool changes_space(const Op& op) {
  switch (op.kind) {
    case Op::Kind::allocate:
    case Op::Kind::free:
    case Op::Kind::discard_inode:
    case Op::Kind::end_commit:
    case Op::Kind::load_group:
    case Op::Kind::discard_blocks:
    case Op::Kind::discarded:
      return true;
    default:
      return false;
  }
}

// Whether the clusters of the allocation are all free now.
bool can_take(const state::FsState& state, const Op& op) {
  const Taken taken(op);
  const state::Group& group = state.group(taken.group);
  return !op.closing.prealloc && taken.count > 0 && !group.need_init && !group.corrupt &&
         state::bitmap::all_clear(state.words(group), taken.start, taken.count);
}

}  // namespace

Status OrderSearch::advance(const Op& op) {
  if (op.kind == Op::Kind::commit_flushing) {
    E4R_CHECK(end_commit());
    begin_commit();
  }
  keep_op(op);
  E4R_CHECK(follow(op));
  E4R_CHECK(repeat_doubted());
  const bool over = commit_ && !model().committing() && tests_.empty();
  return over ? end_commit() : Status();
}

// Processes an operation, for the first time or again.
Status OrderSearch::follow(const Op& op) {
  E4R_CHECK(place_closed(op.ordinal));
  at_.event = op.ordinal;
  if (const auto unlink = unlink_before(op, at_.found.progress())) {
    note_step(*unlink);
    E4R_CHECK(Follow::advance(*unlink));
  }
  note_step(op);
  if (op.kind == Op::Kind::commit_flushing) {
    at_.found.progress().begin(at_.event, commit_ ? commit_->notes : CommitProgress::Notes());
    entries_left_ = kTriesPerEntry * model().own_state().freed().entries().size();
    progress_ = {};
    progress_.begin(at_.event);
    tests_.clear();
    commit_began_ = at_.event;
  } else if (op.kind == Op::Kind::end_commit) {
    at_.found.progress().end(at_.event);
    note_commit(UINT64_MAX);
    at_.returned = 0;
  } else if (op.kind == Op::Kind::returned) {
    note_returned(op);
  }
  if (asks(op))
    E4R_CHECK(find_place(op));
  else if (op.kind == Op::Kind::discard_inode)
    E4R_CHECK(discard(op));
  else
    E4R_CHECK(Follow::advance(op));
  return at_.held.empty() || !changes_space(op) ? Status() : place_agreeing();
}

Status OrderSearch::end(const OpReader& ops) {
  E4R_CHECK(place_closed(UINT64_MAX));
  E4R_CHECK(end_commit());
  return Follow::end(ops);
}

std::uint64_t OrderSearch::trials_before(const TraceFacts& trace) {
  return trace.from == nullptr ? 0 : trace.from->trials;
}

// Whether the allocation, if decided now, would have the recorded outcome. False once the budget of
// trials is used up.
bool OrderSearch::agrees(const Op& op) {
  const std::uint64_t cost = thorough_ ? kThoroughCost : 1;
  if (at_.trials_left < cost) return false;
  at_.trials_left -= cost;
  return would_agree(op, thorough_).value_or(false);
}

// Finds the place of an allocation: decides it now, before other allocations, or holds it for
// later.
Status OrderSearch::find_place(const Op& op) {
  E4R_CHECK(commit_before(op, std::exchange(at_.returned, 0)));
  const bool alone =
      op.race != Race::allocator && !model().committing() && model().state().discarding().empty();
  const std::optional<bool> agreed = alone ? std::nullopt : would_agree(op);
  if (alone || agreed.value_or(true)) return place(op, {}, agreed);
  if (const Others later = find_later(op); !later.empty()) return place(op, later);
  if (doubted_.contains(op.request)) {
    const auto freed = find_commit(op);
    if (const auto less = reorder_frees(op, freed.value_or(UINT64_MAX))) {
      E4R_CHECK(commit_before(op, *less));
      return place(op);
    }
  } else if (const auto freed = find_needed_commit(op)) {
    E4R_CHECK(commit_before(op, *freed));
    return place(op);
  }
  if (!op.moved && closed_at(op) > op.ordinal && at_.held.size() < kRemembered) {
    at_.held.push_back(op);
    return {};
  }
  E4R_TRY(const Others later, prepare(op));
  return place(op, later);
}

// Schedules what must come before the allocation to give it the recorded outcome now: the end of a
// discard, the return of a part of the commit, or what its search saw earlier. Returns the decided
// allocations that took effect after it, in reverse order.
Result<OrderSearch::Others> OrderSearch::prepare(const Op& op) {
  Others later;
  if (const auto by = find_discard(op)) {
    E4R_CHECK(end_discard_before(op, *by));
  } else if (const auto freed = find_commit(op)) {
    E4R_CHECK(commit_before(op, *freed));
  } else if (const auto reordered = reorder_frees(op, UINT64_MAX)) {
    E4R_CHECK(commit_before(op, *reordered));
  } else if (!agrees_thoroughly(op, later)) {
    E4R_CHECK(see_earlier(op));
  }
  return later;
}

// Whether the allocation has its recorded outcome if its search also skips locked groups in which
// it would take nothing. If this works only before other allocations, puts these into `later`.
bool OrderSearch::agrees_thoroughly(const Op& op, Others& later) {
  thorough_ = true;
  const bool now = agrees(op);
  if (!now) later = find_later(op);
  thorough_ = false;
  return now || !later.empty();
}

Status OrderSearch::place_held(std::size_t index, const Others& later) {
  Op op = at_.held[index];
  at_.held.erase(at_.held.begin() + static_cast<std::ptrdiff_t>(index));
  op.scheduled = at_.event != op.ordinal || at_.moved_to == at_.event;
  return place(op, later);
}

// Moves the allocation to the present place in the order.
void OrderSearch::move_here(const Op& op) {
  at_.found.move(op.request, at_.event);
  at_.moved_to = at_.event;
}

// Decides each held allocation that would now have its recorded outcome.
Status OrderSearch::place_agreeing() {
  for (std::size_t i = 0; i < at_.held.size();) {
    Others later;
    if (!agrees(at_.held[i]) && (later = find_later(at_.held[i])).empty()) {
      ++i;
      continue;
    }
    E4R_CHECK(place_held(i, later));
    i = 0;
  }
  return {};
}

// Decides the held allocations that were closed before the event.
Status OrderSearch::place_closed(std::uint64_t event) {
  for (;;) {
    const auto found =
        std::ranges::find_if(at_.held, [event](const Op& op) { return closed_at(op) < event; });
    if (found == at_.held.end()) return {};
    E4R_TRY(const Others later, prepare(*found));
    E4R_CHECK(place_held(static_cast<std::size_t>(found - at_.held.begin()), later));
    E4R_CHECK(place_agreeing());
  }
}

// Notes that an allocation or a free was moved after others. A run that only searches will be
// followed by a run in the order that it finds, so it needs no layouts.
void OrderSearch::note_reordered() {
  reordered_ = true;
  if (repeats_) drop_layouts();
}

// Decides the allocation now, and moves the allocations in `later` after it. `later` is in reverse
// order. `agreed` is the result of agrees() for the present state, if the caller has it.
Status OrderSearch::place(const Op& op, const Others& later, std::optional<bool> agreed) {
  if (op.scheduled) move_here(op);
  if (!later.empty()) note_reordered();
  for (auto other = later.rbegin(); other != later.rend(); ++other) move_here((*other)->op);
  note_missing(op, agreed);
  const std::uint64_t conflicts = agreement().conflicts, differing = agreement().differing();
  const trace::RecordedExtent& result = op.closing.result;
  state::FsState::GroupPlace before;
  if (op.race == Race::allocator && result.group < model().state().group_count())
    before = model().state().place_of(result.group);
  Op decided = op;
  for (const Schedule::Seen& seen : at_.found.seen(op.request)) {
    decided.sees_earlier = true;
    E4R_CHECK(Follow::advance(op_before(op, seen)));
  }
  E4R_CHECK(decide_before(decided, later));
  if (!op.closing.prealloc) test_parts(agreement().differing() > differing);
  at_.trials_left += kTrialsPerDecision;
  if (!op.closing.prealloc && result.len > 0)
    note_change({result.group, static_cast<std::uint32_t>(result.start), result.len, 0, 0}, false,
                closed_at(op));
  if (op.race != Race::allocator) return {};
  const bool can_undo =
      agreement().conflicts == conflicts && !op.closing.prealloc && !op.moved && result.len > 0;
  remember({op, before, can_undo}, later);
  return {};
}

// Remembers a decided allocation. Also remembers that the allocations in `later` took effect after
// it. `later` is in reverse order.
void OrderSearch::remember(const Placed& placed, const Others& later) {
  std::vector<Placed> last = {placed};
  std::transform(later.rbegin(), later.rend(), std::back_inserter(last),
                 [](const Placed* other) { return *other; });
  std::erase_if(at_.placed, [&](const Placed& other) {
    return std::ranges::find(later, &other) != later.end();
  });
  for (const Placed& one : last) {
    if (at_.placed.size() == kRemembered) at_.placed.pop_front();
    at_.placed.push_back(one);
  }
}

// Discards the inode's preallocations, and records the clusters that become free.
Status OrderSearch::discard(const Op& op) {
  const state::FsState& state = model().state();
  std::vector<Freed> ranges;
  if (const state::InodePreallocs* mine = state.find_inode_preallocs(op.ino))
    for (const state::Prealloc& pa : mine->list)
      ranges.push_back({pa.group, pa.made_at, pa.made_len, 0, 0});
  E4R_CHECK(Follow::advance(op));
  for (const Freed& range : ranges)
    state::bitmap::for_each_clear_run(state.words(state.group(range.group)), range.start,
                                      range.end(), [&](std::uint32_t start, std::uint32_t end) {
                                        note_change({range.group, start, end - start, 0, 0}, true);
                                      });
  return {};
}

void OrderSearch::note_change(const Freed& extent, bool freed, std::uint64_t until) {
  if (at_.changes.size() == kChanges) at_.changes.pop_front();
  at_.changes.push_back({at_.event, std::max(at_.event, until), extent, freed});
}

// Finds the earlier state of groups that the allocation's search may have seen before it came back
// to its best extent. Undoes changes from the last one on: first the changes in `returned`, then
// the changes that may be later than the request. Most such searches found the clusters of the
// result as they are, so the first attempt undoes only changes of other clusters. Returns nullopt
// if no such state gives the recorded outcome. Makes at most `tries` trials, and subtracts them.
std::optional<OrderSearch::Seen> OrderSearch::find_seen(const Op& op,
                                                        std::span<const Freed> returned,
                                                        std::size_t& tries) {
  bool keeps_result = true, has_kept = false;
  Seen seen;
  const auto attempt = [&] {
    Trial trial(model().own_state());
    trial.limit_to_walks();
    seen.clear();
    const auto undo = [&](const Freed& extent, bool freed) {
      if (tries == 0 || at_.trials_left == 0) return false;
      if (keeps_result && extent.group == op.closing.result.group &&
          extent.overlaps(static_cast<std::uint32_t>(op.closing.result.start),
                          std::max(op.closing.result.len, 1u))) {
        has_kept = true;
        return false;
      }
      trial.resume();
      if (!trial.change(extent.group, extent.start, extent.count, !freed)) return false;
      --tries;
      seen.push_back({extent.group, extent.start, extent.count, !freed});
      return agrees(op);
    };
    return std::any_of(returned.rbegin(), returned.rend(),
                       [&](const Freed& entry) { return undo(entry, true); }) ||
           std::any_of(at_.changes.rbegin(), at_.changes.rend(), [&](const Change& change) {
             return change.until > op.asked_at && undo(change.extent, change.freed);
           });
  };
  if (attempt()) return seen;
  keeps_result = false;
  if (has_kept && attempt()) return seen;
  return std::nullopt;
}

// Schedules what the allocation's search saw: an earlier state of other groups and, in the group of
// its result, the return of a part of the commit in progress. Does nothing if no such state gives
// the recorded outcome.
Status OrderSearch::see_earlier(const Op& op) {
  constexpr std::size_t kTries = 4096;
  state::FsState& state = model().own_state();
  // On kernels with lists, a change of a group moves the group on the lists, so a search would see
  // the move, too.
  if (at_.trials_left == 0 || state.has_lists() || op.closing.prealloc) return {};
  std::size_t tries = kTries;
  std::optional<Seen> seen = find_seen(op, {}, tries);
  std::vector<Freed> returned;  // in other groups
  std::uint64_t freed = 0;
  if (const auto transaction = model().committing(); !seen && transaction) {
    const std::uint64_t missing = at_.found.progress().first_missing(op.ordinal);
    Trial trial(state);
    for (const Freed& entry : state.freed().entries()) {
      if (entries_left_ == 0 || tries == 0 || entry.transaction != *transaction ||
          entry.freed_at >= missing || !trial.give(entry))
        break;
      --entries_left_;
      if (entry.group != op.closing.result.group) {
        returned.push_back(entry);
      } else if ((seen = find_seen(op, returned, tries))) {
        freed = entry.freed_at;
        break;
      }
    }
  }
  if (!seen) return {};
  E4R_CHECK(commit_before(op, freed));
  at_.found.see(op.request, *std::move(seen));
  return {};
}

// Schedules the return of a discarded range before the allocation.
Status OrderSearch::end_discard_before(const Op& op, std::uint64_t by) {
  at_.found.discarded_before(op.request, by);
  Op over = op_before(op, Op::Kind::discarded);
  over.request = by;
  return Follow::advance(over);
}

// Finds the sender (FsState::Discarding::by) of a discarded range that must have been given back,
// because the decision took part of it or has the recorded outcome only afterwards.
std::optional<std::uint64_t> OrderSearch::find_discard(const Op& op) {
  state::FsState& state = model().own_state();
  const trace::RecordedExtent& result = op.closing.result;
  const std::vector<state::FsState::Discarding> ranges = state.discarding();
  for (const state::FsState::Discarding& range : ranges) {
    if (!op.closing.prealloc && result.len > 0 &&
        range.overlaps(result.group, static_cast<std::uint32_t>(result.start), result.len))
      return range.by;
    Trial trial(state);
    if (trial.give(range.group, range.start, range.len) && agrees(op)) return range.by;
  }
  return std::nullopt;
}

// The decided allocations that may have taken effect as late as now, in reverse order.
OrderSearch::Others OrderSearch::still_open() {
  Others out;
  for (auto other = at_.placed.rbegin(); other != at_.placed.rend(); ++other)
    if (other->can_undo && closed_at(other->op) > at_.event) out.push_back(&*other);
  return out;
}

// The decided allocations that took effect after `op`, in reverse order and as few as possible.
// Empty if `op` does not belong before any of them.
OrderSearch::Others OrderSearch::find_later(const Op& op) {
  // Restoring a tree for each trial would take too long.
  if (at_.trials_left == 0 || state::has_tree(model().state().index())) return {};
  const Others others = still_open();
  const unsigned all = 1u << std::min(others.size(), kMostOpen);
  for (int count = 1; count <= (thorough_ ? 1 : kMostUndone); ++count)
    for (unsigned set = 1; set < all; ++set) {
      if (std::popcount(set) != count) continue;
      Others later;
      for (std::size_t i = 0; i < others.size(); ++i)
        if ((set >> i & 1) != 0) later.push_back(others[i]);
      if (belongs_before(op, later)) return later;
    }
  return {};
}

// Frees the clusters of a decided allocation. Returns false if that is not possible.
bool OrderSearch::undo(const Placed& placed, Trial& trial) {
  state::FsState& state = model().own_state();
  const Taken taken(placed.op);
  if (state.group(taken.group).corrupt || !trial.give(taken.group, taken.start, taken.count))
    return false;
  state.put_back(placed.before);
  return true;
}

// Whether the allocation would have its recorded outcome now. Lets it take its clusters.
bool OrderSearch::agrees_and_takes(const Op& op, Trial& trial) {
  const bool agree = agrees(op);
  const Taken taken(op);
  if (can_take(model().state(), op)) (void)trial.take(taken.group, taken.start, taken.count);
  return agree;
}

// Whether the allocation would have its recorded outcome without the allocations in `later`, and
// whether each of these would have its recorded outcome afterwards. `later` is in reverse order.
bool OrderSearch::belongs_before(const Op& op, const Others& later) {
  Trial trial(model().own_state());
  const bool agree =
      std::ranges::all_of(later, [&](const Placed* other) { return undo(*other, trial); }) &&
      agrees_and_takes(op, trial) &&
      std::all_of(later.rbegin(), later.rend(),
                  [&](const Placed* other) { return agrees_and_takes(other->op, trial); });
  trial.end();
  return agree && agree_without(later);
}

// Some allocations that are not in `later` were decided after the first one in `later`. Returns
// whether they would have their recorded outcomes without the allocations in `later`. `later` is in
// reverse order.
bool OrderSearch::agree_without(const Others& later) {
  if (later.back() == &at_.placed.back()) return true;
  Trial trial(model().own_state());
  Others undone;
  for (auto other = at_.placed.rbegin(); other != at_.placed.rend(); ++other) {
    if (other->can_undo && undo(*other, trial)) undone.push_back(&*other);
    if (&*other == later.back()) break;
  }
  return std::all_of(undone.rbegin(), undone.rend(), [&](const Placed* other) {
    return std::ranges::find(later, other) != later.end() || agrees_and_takes(other->op, trial);
  });
}

// Decides the allocation while the clusters of the allocations in `later` are free. Then lets
// `later` take their clusters again.
Status OrderSearch::decide_before(const Op& op, const Others& later) {
  state::FsState& state = model().own_state();
  for (const Placed* other : later) {
    const Taken taken(other->op);
    (void)state.give(state.group(taken.group), taken.start, taken.count);
    state.put_back(other->before);
  }
  E4R_CHECK(Follow::advance(op));
  for (auto other = later.rbegin(); other != later.rend(); ++other) {
    const Taken taken((*other)->op);
    (*other)->before = state.place_of(taken.group);
    if (can_take(state, (*other)->op))
      (void)state.take(state.group(taken.group), taken.start, taken.count);
  }
  return {};
}

}  // namespace e4r::replay
