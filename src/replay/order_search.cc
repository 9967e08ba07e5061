// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/order_search.h"

#include <algorithm>
#include <bit>

#include "replay/checkpoint.h"

namespace e4r::replay {

namespace {

// More than the threads that can have an allocation under way.
constexpr std::size_t kRemembered = 64;
// Of how many of them, and how many at once, another order is tried.
constexpr std::size_t kMostOpen = 7;
constexpr int kMostUndone = 3;
// How many trials each decision adds to those that the search may make. Bounds the time that a
// trace costs in which many allocations overlap and no order fits.
constexpr std::uint64_t kTrialsPerDecision = 32;
// How often each entry of a commit may be given back for a try. Bounds the time that a trace costs
// in which nothing fits.
constexpr std::uint64_t kTriesPerEntry = 8;

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

// Gives ranges back for a try. Takes all of them again at its end.
class GivenForTry {
 public:
  explicit GivenForTry(state::FsState& state) : state_(state) {}
  GivenForTry(const GivenForTry&) = delete;
  GivenForTry& operator=(const GivenForTry&) = delete;
  ~GivenForTry() {
    for (auto range = given_.rbegin(); range != given_.rend(); ++range)
      (void)state_.take(state_.group(range->group), range->start, range->count);
  }

  // False: its clusters are not all in use.
  bool give(const state::FreedList::Entry& entry) {
    return give_range({entry.group, entry.start, entry.count});
  }
  bool give(const state::FsState::Discarding& range) {
    return give_range({range.group, range.start, range.len});
  }

 private:
  struct Range {
    std::uint32_t group = 0, start = 0, count = 0;
  };
  bool give_range(const Range& range) {
    if (!state_.give(state_.group(range.group), range.start, range.count)) return false;
    given_.push_back(range);
    return true;
  }

  state::FsState& state_;
  std::vector<Range> given_;
};

}  // namespace

Status OrderSearch::advance(const Op& op) {
  E4R_CHECK(place_closed(op.ordinal));
  now_ = op.ordinal;
  if (op.kind == Op::Kind::commit_flushing) {
    entries_left_ = kTriesPerEntry * model().own_state().freed().entries().size();
    progress_.begin(now_);
  } else if (op.kind == Op::Kind::end_commit) {
    progress_.end(now_);
  }
  E4R_CHECK(asks(op) ? find_place(op) : Follow::advance(op));
  return held_.empty() || !changes_space(op) ? Status() : place_what_agrees();
}

Status OrderSearch::end(const OpReader& ops) {
  E4R_CHECK(place_closed(UINT64_MAX));
  return Follow::end(ops);
}

std::uint64_t OrderSearch::trials_before(const TraceFacts& trace) {
  return trace.from == nullptr ? 0 : trace.from->trials;
}

// Whether the decision would come out as recorded. False once too many trials were made.
bool OrderSearch::agrees(const Op& op) {
  if (trials_left_ == 0) return false;
  --trials_left_;
  return would_agree(op).value_or(false);
}

// Decides the allocation now, before others, or later.
Status OrderSearch::find_place(const Op& op) {
  const bool alone =
      op.race != Race::allocator && !model().committing() && model().state().discarding().empty();
  if (alone || would_agree(op).value_or(true)) return place(op);
  if (const Requests later = find_later(op); !later.empty()) return place(op, later);
  if (!op.moved && closed_at(op) > op.ordinal && held_.size() < kRemembered) {
    held_.push_back(op);
    return {};
  }
  if (const auto by = find_discard(op)) E4R_CHECK(end_discard_before(op, *by));
  return place(op);
}

Status OrderSearch::place_held(std::size_t index, const Requests& later) {
  Op op = held_[index];
  held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
  op.scheduled = now_ != op.ordinal;
  return place(op, later);
}

// Decides each held allocation that would now be decided as recorded.
Status OrderSearch::place_what_agrees() {
  for (std::size_t i = 0; i < held_.size();) {
    Requests later;
    if (!agrees(held_[i]) && (later = find_later(held_[i])).empty()) {
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
        std::ranges::find_if(held_, [event](const Op& op) { return closed_at(op) < event; });
    if (found == held_.end()) return {};
    if (const auto by = find_discard(*found))
      E4R_CHECK(end_discard_before(*found, *by));
    else if (const auto freed = find_commit(*found))
      E4R_CHECK(commit_before(*found, *freed));
    E4R_CHECK(place_held(static_cast<std::size_t>(found - held_.begin())));
    E4R_CHECK(place_what_agrees());
  }
}

// Decides it now, and moves `later` behind it.
Status OrderSearch::place(const Op& op, const Requests& later) {
  if (op.scheduled) found_.move(op.request, now_);
  for (const std::uint64_t request : later) found_.move(request, now_);
  note_missing(op);
  const std::uint64_t conflicts = agreement().conflicts;
  E4R_CHECK(Follow::advance(op));
  trials_left_ += kTrialsPerDecision;
  if (op.race != Race::allocator) return {};
  if (placed_.size() == kRemembered) placed_.pop_front();
  const bool can_undo = agreement().conflicts == conflicts && !op.closing.prealloc && !op.moved &&
                        op.closing.result.len > 0;
  placed_.push_back({op, can_undo});
  return {};
}

// The commit under way has given back what was freed up to an event before the allocation.
Status OrderSearch::commit_before(const Op& op, std::uint64_t freed) {
  found_.commit_before(op.request, freed);
  progress_.add_given(now_, freed);
  Op commit = op_before(op, Op::Kind::commit_until);
  commit.count = freed;
  return Follow::advance(commit);
}

// Notes which extent of the decision's group the commit under way has not given back: the first
// one after which the decision would no longer come out as recorded.
void OrderSearch::note_missing(const Op& op) {
  const std::optional<std::uint64_t> transaction = model().committing();
  if (!transaction || model().policy().kernel.freed != state::FreedMerging::parent) return;
  state::FsState& state = model().own_state();
  std::vector<state::FreedList::Entry> entries;
  state.freed().for_group(op.closing.result.group, [&](const state::FreedList::Entry& entry) {
    if (entry.transaction == *transaction) entries.push_back(entry);
  });
  std::ranges::sort(entries, {}, &state::FreedList::Entry::freed_at);
  const auto agrees_with = [&](std::size_t count) {
    GivenForTry given(state);
    for (const state::FreedList::Entry& entry : std::span(entries).first(count))
      if (!given.give(entry)) return true;
    return agrees(op);
  };
  // Finds the least number of extents after which it does not, if that is so of more as well.
  std::size_t low = 0, high = entries.size();
  if (high == 0 || !agrees_with(0) || agrees_with(high)) return;
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (agrees_with(middle) ? low : high) = middle;
  }
  progress_.add_missing(now_, entries[low].freed_at);
}

// Finds the least part of the commit under way after which the decision would come out as recorded:
// what was freed up to an event. Asks again after each entry of the groups that the decision names,
// and if that is in vain, after each entry.
std::optional<std::uint64_t> OrderSearch::find_commit(const Op& op) {
  const std::optional<std::uint64_t> found = find_commit(op, [&](std::uint32_t group) {
    return group == op.closing.result.group || group == op.closing.goal.group;
  });
  return found ? found : find_commit(op, [](std::uint32_t) { return true; });
}

template <class Matters>
std::optional<std::uint64_t> OrderSearch::find_commit(const Op& op, const Matters& matters) {
  const std::optional<std::uint64_t> transaction = model().committing();
  if (!transaction) return std::nullopt;
  state::FsState& state = model().own_state();
  GivenForTry given(state);
  for (const state::FreedList::Entry& entry : state.freed().entries()) {
    if (entries_left_ == 0 || entry.transaction != *transaction || !given.give(entry)) break;
    --entries_left_;
    if (matters(entry.group) && agrees(op)) return entry.freed_at;
  }
  return std::nullopt;
}

// The range was given back before the allocation.
Status OrderSearch::end_discard_before(const Op& op, std::uint64_t by) {
  found_.discarded_before(op.request, by);
  Op over = op_before(op, Op::Kind::discarded);
  over.request = by;
  return Follow::advance(over);
}

// Finds who must have given back the range that the device was told of (FsState::Discarding::by),
// because the decision has a part of it or comes out as recorded after that.
std::optional<std::uint64_t> OrderSearch::find_discard(const Op& op) {
  state::FsState& state = model().own_state();
  const trace::RecordedExtent& result = op.closing.result;
  const std::vector<state::FsState::Discarding> ranges = state.discarding();
  for (const state::FsState::Discarding& range : ranges) {
    if (!op.closing.prealloc && result.len > 0 &&
        range.overlaps(result.group, static_cast<std::uint32_t>(result.start), result.len))
      return range.by;
    if (state.has_lists()) {  // a try would change their order
      if (range.group == result.group || range.group == op.closing.goal.group) return range.by;
      continue;
    }
    GivenForTry given(state);
    if (given.give(range) && agrees(op)) return range.by;
  }
  return std::nullopt;
}

// The decided allocations that may take effect as late as now, the last one first.
OrderSearch::Others OrderSearch::still_open() const {
  Others out;
  for (auto other = placed_.rbegin(); other != placed_.rend(); ++other)
    if (other->can_undo && closed_at(other->op) > now_) out.push_back(&*other);
  return out;
}

// The decided allocations that take effect after this one, in their order: as few as possible.
// Empty if this one does not belong before any.
OrderSearch::Requests OrderSearch::find_later(const Op& op) {
  if (trials_left_ == 0 || model().own_state().has_lists()) return {};
  const Others others = still_open();
  const unsigned all = 1u << std::min(others.size(), kMostOpen);
  for (int count = 1; count <= kMostUndone; ++count)
    for (unsigned set = 1; set < all; ++set) {
      if (std::popcount(set) != count) continue;
      Others later;
      for (std::size_t i = 0; i < others.size(); ++i)
        if ((set >> i & 1) != 0) later.push_back(others[i]);
      if (!belongs_before(op, later)) continue;
      Requests requests;
      for (auto other = later.rbegin(); other != later.rend(); ++other)
        requests.push_back((*other)->op.request);
      return requests;
    }
  return {};
}

// Whether the decision would come out as recorded without these allocations, and then each of them
// behind it. `later` begins with the last one. Leaves the state as it was.
bool OrderSearch::belongs_before(const Op& op, std::span<const Placed* const> later) {
  std::size_t undone = 0;
  while (undone < later.size() && undo(later[undone]->op)) ++undone;
  bool agree = undone == later.size() && agrees(op);
  const bool taken = agree && redo(op);
  while (undone > 0) {
    const Op& other = later[--undone]->op;
    agree = agree && agrees(other);
    (void)redo(other);
  }
  if (taken) (void)undo(op);
  return agree;
}

// Gives the clusters of an allocation back. False: they are not all in use.
bool OrderSearch::undo(const Op& op) {
  state::FsState& state = model().own_state();
  const trace::RecordedExtent& result = op.closing.result;
  state::Group& group = state.group(result.group);
  return !group.corrupt && state.give(group, static_cast<std::uint32_t>(result.start), result.len);
}

// Takes the clusters of an allocation. False: it takes none, or they are not all free.
bool OrderSearch::redo(const Op& op) {
  state::FsState& state = model().own_state();
  const trace::RecordedExtent& result = op.closing.result;
  state::Group& group = state.group(result.group);
  const auto start = static_cast<std::uint32_t>(result.start);
  if (op.closing.prealloc || result.len == 0 || group.need_init || group.corrupt ||
      !state::bitmap::all_clear(state.words(group), start, result.len))
    return false;
  (void)state.take(group, start, result.len);
  return true;
}

}  // namespace e4r::replay
