// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/group_search.h"

#include <algorithm>
#include <utility>

#include "allocator/kernel.h"
#include "allocator/rungs.h"

namespace e4r::allocator {

void GroupSearch::run(const StreamGoals& streams, const SearchStart& start) {
  state_.begin_walk();
  search_.stripe = stripe_of(stripes_, state_.geometry(), search_.tunables.mb_stripe);
  search_.list_groups = policy_.kernel.groups.lists_bounded ? search_.groups : state_.group_count();
  start.aim_goal(search_);
  if (search_.extsize == 0) try_goal();
  if (search_.status == Status::found || (search_.flags & mb::hint_goal_only) != 0) return;
  set_order2();
  const bool stream = (search_.flags & mb::stream_alloc) != 0;
  if (stream) streams.aim(search_);
  start.aim(search_);
  climb(0);
  if (search_.best.len > 0 && search_.status != Status::found &&
      (search_.flags & mb::hint_first) == 0)
    take_best_or_anything();
  if (search_.status == Status::found) {
    count_hit();
    if (stream && search_.best.group == search_.goal.group) ++search_.counters.stream_goal_hits;
  }
  read_ahead_.finish();
}

void GroupSearch::count_hit() {
  ++search_.counters[search_.criterion].hits;
  if (search_.criterion == mb::Criterion::past_last)
    ++search_.counters[policy_.ladder.front().criterion].useless_loops;
}

void GroupSearch::try_goal() {
  const bool goal_only =
      policy_.kernel.remembers.tries_goal_only && (search_.flags & mb::hint_goal_only) != 0;
  if (!goal_only && (search_.flags & mb::hint_try_goal) == 0) return;
  Group& group = state_.group(search_.goal.group);
  if (group.free == 0 || group.corrupt) return;
  load(group.number);
  if (group.corrupt || group.need_init) return;
  const Extent extent = state_.find_extent(group, search_.goal.start, search_.goal.len);
  const auto stripe = search_.tunables.mb_stripe;
  const bool whole = extent.len >= search_.goal.len && extent.len > 0;
  const bool merge = extent.len > 0 && (search_.flags & mb::hint_merge) != 0;
  const bool off_stripe = whole && search_.goal.len == search_.stripe && stripe > 0 &&
                          state_.geometry().block_of(extent.group, extent.start) % stripe != 0;
  const bool will_do = !off_stripe && (whole || merge);
  search_.tell(&SearchObserver::on_goal, search_, extent, will_do);
  if (!will_do) return;
  ++search_.found;
  search_.best = extent;
  take_best(group);
}

void GroupSearch::set_order2() {
  const std::uint32_t len = search_.goal.len;
  const auto order = static_cast<std::uint32_t>(fls(len));
  search_.order2 = 0;
  if (order >= search_.tunables.mb_order2_req && order <= state_.geometry().orders() &&
      (len & (len - 1)) == 0 && order > 0)
    search_.order2 = order - 1;
}

// Whether the first rung can find an aligned extent of the goal's length.
bool GroupSearch::can_align() const {
  return search_.order2 > 0 && search_.goal.len % search_.extsize == 0;
}

void GroupSearch::climb(std::size_t rung) {
  if (search_.extsize != 0 && !can_align()) return;
  const std::size_t rungs = search_.extsize != 0 ? 1 : policy_.ladder.size();
  while (rung < rungs && search_.status == Status::going) {
    const Rung& next = policy_.ladder[rung];
    const bool entered = std::exchange(after_round_, false);
    if (!walked_ && !entered && !next.applies(search_))
      ++rung;
    else
      rung = by_classes(next) ? run_classes(rung) : run_rung(rung);
  }
}

// Whether the rung walks the groups by number instead of asking the lists.
bool GroupSearch::walks(const Rung& rung) const {
  return rung.choose == nullptr || !state_.has_lists() || !indexed_;
}

bool GroupSearch::by_classes(const Rung& rung) const {
  return rung.classes != nullptr && state_.index() == state::GroupIndex::sets && indexed_;
}

std::uint32_t GroupSearch::first_group() const {
  return search_.goal.group < search_.groups ? search_.goal.group : 0;
}

void GroupSearch::step(std::uint32_t& group) const {
  group = group + 1 >= search_.groups ? 0 : group + 1;
}

// Sets `group` to the next one from the index. Returns false if the index has no further group.
bool GroupSearch::ask_next(const Rung& rung, std::uint32_t& group) {
  const auto next = ask(rung);
  search_.tell(&SearchObserver::on_index, rung.criterion, search_.goal.len, next);
  group = next.value_or(group);
  return next.has_value();
}

// Returns the next group from the lists. Checks its number, since a policy from a file may name a
// group that does not exist.
std::optional<std::uint32_t> GroupSearch::ask(const Rung& rung) {
  const auto next = rung.choose(search_);
  if (!next || *next < search_.list_groups) return next;
  search_.note(Search::Fault::What::no_such_group, *next);
  return std::nullopt;
}

// Whether to skip the group because another CPU holds its lock.
bool GroupSearch::leave(std::uint32_t group) {
  const std::span<const PassedOver::Entry> passed_over = search_.passed_over.entries();
  for (std::size_t i = 0; i < passed_over.size(); ++i) {
    if (passed_over[i].group != group) continue;
    const unsigned visit = visited_[i]++;
    if (visit < PassedOver::kMostVisits && (passed_over[i].visits >> visit & 1) != 0) return true;
  }
  if (search_.held == nullptr || !search_.held->test(group % kGroupLocks)) return false;
  ++search_.counters.groups_left;
  return true;
}

// Looks at one group, and searches it if it is good enough.
void GroupSearch::visit(const Rung& rung, std::uint32_t group) {
  read_ahead_.at(group, rung.fast);
  const bool tries = tries_lock(policy_, rung);
  const bool noted = tries && search_.visits != nullptr;
  if (noted) search_.visits->push_back({group});
  if (tries && leave(group)) {
    ++search_.counters[rung.criterion].passed_over;
    return;
  }
  const bool good = good_enough(rung, group);
  search_.tell(&SearchObserver::on_group, search_, rung, state_.group(group));
  if (good && noted) search_.visits->back().scanned = true;
  if (good) scan(rung, state_.group(group));
}

// Runs one rung, starting at the goal's group, by walking or by the order lists. Returns the index
// of the rung to run next if nothing was found.
std::size_t GroupSearch::run_rung(std::size_t index) {
  const Rung& rung = policy_.ladder[index];
  auto& counters = search_.counters[rung.criterion];
  const std::uint32_t groups = search_.groups;
  search_.criterion = rung.criterion;
  walked_ = false;
  std::uint32_t group = first_group();
  search_.linear_left = static_cast<std::uint32_t>(search_.tunables.mb_max_linear_groups);
  read_ahead_.begin(group);
  search_.tell(&SearchObserver::on_rung, search_, rung, group);
  bool dry = false;  // the index has no further group
  if (policy_.kernel.groups.asks_at_once && !walks(rung)) {
    if (search_.linear_left == 0)
      dry = !ask_next(rung, group);
    else
      --search_.linear_left;
  }
  std::uint32_t looked = 0;
  for (; looked < groups; ++looked) {
    if (dry) return index + 1;
    if (walks(rung) && looked > 0) {
      looked += skip(rung, group, groups - looked);
      if (looked >= groups) break;
    }
    visit(rung, group);
    if (search_.status != Status::going) break;
    if (walks(rung) || search_.linear_left > 0) {
      if (!walks(rung)) --search_.linear_left;
      step(group);
    } else {
      dry = !ask_next(rung, group);
    }
  }
  if (looked == groups) {
    ++counters.useless_loops;
    after_round_ = policy_.kernel.groups.enters_after_round;
  }
  if (looked == groups && index + 1 == policy_.ladder.size() &&
      policy_.kernel.groups.counts_past_last)
    search_.criterion = mb::Criterion::past_last;
  const bool leaves = !walks(rung) || (looked == groups && policy_.kernel.remembers.after_walks);
  if (search_.status == Status::going && leaves && rung.leave != nullptr) rung.leave(search_);
  return index + 1;
}

// Runs one rung on a kernel that keeps sets: it walks mb_max_linear_groups groups, starting at the
// goal's group, then searches the rung's classes (ext4_mb_scan_groups, Linux 6.12.117). If the walk
// covered all groups exactly once, the kernel has already moved to the next criterion and searches
// that criterion's classes.
std::size_t GroupSearch::run_classes(std::size_t index) {
  const Rung& rung = policy_.ladder[index];
  const std::uint32_t groups = search_.groups;
  search_.criterion = rung.criterion;
  std::uint32_t group = first_group();
  search_.tell(&SearchObserver::on_rung, search_, rung, group);
  if (!std::exchange(walked_, false)) {
    read_ahead_.begin(group);
    const std::uint64_t linear = search_.tunables.mb_max_linear_groups;
    // A walk may go around all groups many times. After two rounds, the kernel's further visits
    // only increase a counter. So whole rounds are added to the counter at once.
    const std::uint64_t real = std::min<std::uint64_t>(linear, 2ull * groups + linear % groups);
    for (std::uint64_t i = 0; i < real; ++i, step(group)) {
      visit(rung, group);
      if (search_.status != Status::going) return index + 1;
    }
    search_.counters[rung.criterion].groups_considered += linear - real;
    if (linear == groups) {
      ++search_.counters[rung.criterion].useless_loops;
      walked_ = by_classes(policy_.ladder[index + 1]);
      return index + 1;
    }
  }
  search_classes(rung, group);
  if (search_.status != Status::going) return index + 1;
  search_.tell(&SearchObserver::on_index, rung.criterion, search_.goal.len, std::nullopt);
  ++search_.counters[rung.criterion].useless_loops;
  if (rung.leave != nullptr) rung.leave(search_);
  return index + 1;
}

// Searches the rung's classes, first in the groups from `from` to the last, then in the groups
// before `from`.
void GroupSearch::search_classes(const Rung& rung, std::uint32_t from) {
  const GroupClasses classes = rung.classes(search_);
  const auto search = [&](std::uint32_t first, std::uint32_t end) {
    for (const GroupClass& wanted : classes) {
      if (wanted.goal_len != 0) search_.goal.len = wanted.goal_len;
      search_class(rung, wanted, first, end);
      if (search_.status != Status::going) return;
    }
  };
  search(from, search_.groups);
  if (from > 0 && search_.status == Status::going) search(0, from);
}

void GroupSearch::search_class(const Rung& rung, const GroupClass& wanted, std::uint32_t first,
                               std::uint32_t end) {
  const state::GroupSet& set = wanted.by == GroupClass::By::largest
                                   ? state_.largest_set(wanted.order)
                                   : state_.average_set(wanted.order);
  auto& counters = search_.counters[rung.criterion];
  std::uint32_t group = set.next(first);
  if (group < end) search_.tell(&SearchObserver::on_index, rung.criterion, search_.goal.len, group);
  for (; group < end; group = set.next(group + 1)) {
    ++counters.groups_considered;
    visit(rung, group);
    if (search_.status != Status::going) return;
  }
}

std::uint32_t GroupSearch::skip(const Rung& rung, std::uint32_t& group, std::uint32_t left) {
  // Walking triggers read-ahead. So no group is skipped while read-ahead can still load groups. Nor
  // is one skipped if visits count.
  if (read_ahead_.pending() || search_.visits != nullptr || !search_.passed_over.empty()) return 0;
  const std::uint32_t groups = search_.groups;
  const std::uint32_t least = rung.least_free(search_);
  std::uint32_t next = state_.free_index().next(group, least);
  std::uint32_t steps = next - group;
  if (next >= groups) {
    next = state_.free_index().next(0, least);
    steps = groups - group + next;
  }
  steps = std::min(steps, left);
  search_.counters[rung.criterion].groups_considered += steps;
  if (steps > 0) search_.tell(&SearchObserver::on_pass, group, steps, least);
  group = (group + steps) % groups;
  return steps;
}

// Whether to scan the group. Loads its buddy if the rung may load groups
// (ext4_mb_good_group_nolock).
bool GroupSearch::good_enough(const Rung& rung, std::uint32_t number) {
  const Group& group = state_.group(number);
  ++search_.counters[rung.criterion].groups_considered;
  if (group.free == 0 || group.free < rung.least_free(search_) || group.corrupt) return false;
  if (!group.need_init) return rung.good(search_, group);
  const state::MountedGeometry& geometry = state_.geometry();
  const bool first_of_flex =
      geometry.log_groups_per_flex != 0 && number % geometry.flex_size() == 0;
  const bool no_io = geometry.desc_csum && group.block_uninit;
  if (rung.fast && !first_of_flex && !no_io) return false;
  load(number);
  if (group.need_init) return false;
  return rung.good(search_, state_.group(number));
}

void GroupSearch::load(std::uint32_t group) {
  if (!search_.trial)
    search_.load(group);
  else if (state_.group(group).need_init)
    state_.load_for_try(group, search_.loaded_for_trial);
}

void GroupSearch::scan(const Rung& rung, Group& group) {
  const std::uint32_t found_before = search_.found;
  if (group.reclaimed) load(group.number);
  ++search_.groups_scanned;
  const bool striped = is_striped(search_, rung);
  if (rung.scan == Scan::chunks)
    scan_chunks(group);
  else if (striped)
    scan_striped(group);
  if (rung.scan == Scan::extents && search_.status == Status::going &&
      (!striped || stripes_.then_any))
    scan_extents(group, rung.lengths);
  search_.counters[rung.criterion].extents_scanned += search_.found - found_before;
  search_.tell(&SearchObserver::on_scan, group, search_.found);
}

void GroupSearch::scan_chunks(Group& group) {
  for (std::uint32_t order = search_.order2; order < state_.geometry().orders(); ++order) {
    if (group.counters[order] == 0) continue;
    ++search_.found;
    const std::uint32_t start = state_.buddy(group).first_chunk(order) << order;
    const Extent chunk = {group.number, start, 1u << order, search_.best.logical};
    if (search_.extsize != 0 && !starts_aligned(state_.geometry(), chunk, search_.goal.len)) {
      search_.status = Status::stopped;
      return;
    }
    search_.best = chunk;
    take_best(group);
    if (search_.status == Status::found) ++search_.counters.order2_hits;
    return;
  }
}

void GroupSearch::scan_extents(Group& group, Lengths lengths) {
  const std::uint32_t limit = state_.geometry().clusters_per_group;
  const std::uint32_t least = lengths == Lengths::all ? 1 : search_.goal.len;
  std::uint32_t at = group.first_free;
  while (search_.status == Status::going) {
    const state::bitmap::ConstWords words = state_.words(group);
    at = state::bitmap::find_clear_run(words, limit, at, least);
    if (at >= limit) break;
    const Extent extent = state_.find_extent(group, at, search_.goal.len);
    measure(group, extent);
    at =
        lengths == Lengths::long_runs ? state::bitmap::find_set(words, limit, at) : at + extent.len;
  }
  check_limits(group, true);
}

void GroupSearch::scan_striped(Group& group) {
  const Geometry& geometry = state_.geometry();
  const std::uint64_t stripe = search_.stripe;
  const std::uint64_t blocks = stripe_blocks(stripes_, geometry, stripe);
  const auto wanted = stripes_.whole_goal ? search_.goal.len : static_cast<std::uint32_t>(stripe);
  const std::uint64_t first = geometry.first_block(group.number);
  const std::uint64_t offset = (first + blocks - 1) / blocks * blocks - first;
  std::uint64_t at = stripes_.in_clusters ? offset >> geometry.cluster_bits : offset;
  // Without whole_goal, the kernel also looks at a stripe that the group's end cuts off. Such a
  // stripe is never free.
  const std::uint64_t needed = stripes_.whole_goal ? wanted : 1;
  for (; at + needed <= geometry.clusters_per_group; at += stripe) {
    const Extent extent = state_.find_extent(group, static_cast<std::uint32_t>(at), wanted);
    if (extent.len < wanted) continue;
    ++search_.found;
    search_.best = extent;
    take_best(group);
    return;
  }
}

void GroupSearch::measure(Group& group, const Extent& extent) {
  Extent& best = search_.best;
  const std::uint32_t wanted = search_.goal.len;
  ++search_.found;
  const bool at_once = (search_.flags & mb::hint_first) != 0 || extent.len == wanted;
  const bool longer_is_better = best.len < wanted;
  const bool better =
      at_once || best.len == 0 ||
      (longer_is_better ? extent.len > best.len : extent.len > wanted && extent.len < best.len);
  search_.tell(&SearchObserver::on_extent, extent, better);
  if (at_once) {
    best = extent;
    take_best(group);
    return;
  }
  const bool first = best.len == 0;
  if (better) best = extent;
  if (!first) check_limits(group, false);
}

void GroupSearch::check_limits(Group& group, bool finished) {
  if (search_.status == Status::found) return;
  if (search_.found > search_.tunables.mb_max_to_scan && (search_.flags & mb::hint_first) == 0) {
    search_.status = Status::stopped;
    return;
  }
  const Extent& best = search_.best;
  if (best.len < search_.goal.len) return;
  if (!(finished || search_.found > search_.tunables.mb_min_to_scan) || best.group != group.number)
    return;
  if (state_.find_extent(group, best.start, search_.goal.len).len >= search_.goal.len)
    take_best(group);
}

// Asks the guide whether the search may take the best candidate.
bool GroupSearch::may_take_best() {
  Guide& guide = *search_.guide;
  if (!guide.accepts({false, search_.goal, search_.best}))
    search_.refused = true;
  else if (policy_.kernel.groups.tries_lock &&
           guide.doubts(search_.criterion, search_.found, search_.groups_scanned))
    search_.doubted = true;
  return !search_.refused && !search_.doubted;
}

// Takes the best candidate, cut to the goal's length, out of the group.
void GroupSearch::take_best(Group& group) {
  search_.best.len = std::min(search_.best.len, search_.goal.len);
  search_.best.logical = search_.goal.logical;
  if (search_.guide != nullptr && !search_.settled && !may_take_best()) {
    search_.status = Status::stopped;
    search_.best.len = 0;
    return;
  }
  const state::Buddy::Split split =
      search_.trial ? state_.buddy(group).first_split(search_.best.start, search_.best.len)
                    : state_.take(group, search_.best.start, search_.best.len);
  search_.taken = search_.best;
  search_.status = Status::found;
  search_.tail = split.tail & mb::recorded_bits;
  search_.tell(&SearchObserver::on_take, search_.taken);
  search_.split_order = split.order;
}

// Runs when the search stopped at its limit. Takes the best candidate, or any extent if that is
// gone.
void GroupSearch::take_best_or_anything() {
  state_.end_walk();
  Group& group = state_.group(search_.best.group);
  load(group.number);
  search_.tell(&SearchObserver::on_return, group);
  if (!group.corrupt && !search_.loses_best) {
    const Extent extent = state_.find_extent(group, search_.best.start, search_.best.len);
    if (extent.len > 0) {
      search_.best = extent;
      take_best(group);
    }
  }
  if (search_.status == Status::found || search_.refused || search_.doubted) return;
  ++search_.counters.lost;
  search_.best = {};
  search_.goal.len = search_.goal_len;
  search_.status = Status::going;
  search_.flags |= mb::hint_first;
  climb(policy_.ladder.size() - 1);
}

}  // namespace e4r::allocator
