// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/group_search.h"

#include <algorithm>

namespace e4r::replay {

using policy::Rung;
using policy::Scan;
using Status = policy::Search::Status;
namespace mb = trace::mb;

void GroupSearch::run(std::uint32_t stream_group, std::uint32_t stream_start) {
  search_.stripe = stripe();
  search_.list_groups = policy_.lists_bounded ? search_.groups : state_.group_count();
  try_goal();
  if (search_.status == Status::found || (search_.flags & mb::hint_goal_only) != 0) return;
  set_order2();
  if ((search_.flags & mb::stream_alloc) != 0) {
    search_.goal.group = stream_group;
    search_.goal.start = stream_start;
  }
  climb(0);
  if (search_.best.len > 0 && search_.status != Status::found &&
      (search_.flags & mb::hint_first) == 0)
    take_best_or_anything();
  if (search_.status == Status::found) ++search_.counters[search_.criterion].hits;
  prefetch_finish();
}

// The stripe as the policy's kernel counts it. In clusters, one that is no whole number of them, a
// single one, or longer than a group is none.
std::uint64_t GroupSearch::stripe() const {
  const std::uint64_t blocks = search_.tunables.mb_stripe;
  if (!policy_.whole_stripes) return blocks;
  const state::Geometry& geometry = state_.geometry();
  const std::uint64_t clusters = blocks >> geometry.cluster_bits;
  const bool whole = geometry.to_blocks(clusters) == blocks;
  return whole && clusters >= 2 && clusters <= geometry.clusters_per_group ? clusters : 0;
}

void GroupSearch::try_goal() {
  if ((search_.flags & (mb::hint_try_goal | mb::hint_goal_only)) == 0) return;
  Group& group = state_.group(search_.goal.group);
  if (group.free == 0 || group.corrupt) return;
  load(group.number);
  if (group.corrupt) return;
  const state::Extent extent = state_.find_extent(group, search_.goal.start, search_.goal.len);
  const auto stripe = search_.tunables.mb_stripe;
  const bool whole = extent.len >= search_.goal.len && extent.len > 0;
  const bool merge = extent.len > 0 && (search_.flags & mb::hint_merge) != 0;
  const bool off_stripe = whole && search_.goal.len == search_.stripe && stripe > 0 &&
                          state_.geometry().block_of(extent.group, extent.start) % stripe != 0;
  const bool will_do = !off_stripe && (whole || merge);
  if (search_.observer != nullptr) search_.observer->tried_goal(search_, extent, will_do);
  if (!will_do) return;
  ++search_.found;
  search_.best = extent;
  take_best(group);
}

void GroupSearch::set_order2() {
  const std::uint32_t len = search_.goal.len;
  const auto order = static_cast<std::uint32_t>(state::fls(len));
  search_.order2 = 0;
  if (order >= search_.tunables.mb_order2_req && order <= state_.geometry().orders() &&
      (len & (len - 1)) == 0 && order > 0)
    search_.order2 = order - 1;
}

void GroupSearch::climb(std::size_t rung) {
  while (rung < policy_.ladder.size() && search_.status == Status::going) {
    if (policy_.ladder[rung].applies(search_))
      rung = run_rung(rung);
    else
      ++rung;
  }
}

// Whether the rung goes from group to group by number instead of asking the order lists.
bool GroupSearch::walks(const Rung& rung) const {
  return rung.choose == nullptr || !state_.order_lists();
}

// One rung from the goal's group on. Returns the rung to go on with when nothing was found.
std::size_t GroupSearch::run_rung(std::size_t index) {
  const Rung& rung = policy_.ladder[index];
  auto& counters = search_.counters[rung.criterion];
  const std::uint32_t groups = search_.groups;
  search_.criterion = rung.criterion;
  std::uint32_t group = search_.goal.group < groups ? search_.goal.group : 0;
  search_.linear_left = static_cast<std::uint32_t>(search_.tunables.mb_max_linear_groups);
  prefetch_next_ = group;
  if (search_.observer != nullptr) search_.observer->rung(search_, rung, group);
  bool dry = false;  // the lists have no further group
  std::uint32_t looked = 0;
  for (; looked < groups; ++looked) {
    if (dry) return index + 1;
    if (walks(rung) && looked > 0) {
      looked += skip(rung, group, groups - looked);
      if (looked >= groups) break;
    }
    prefetch_at(rung, group);
    const bool good = good_enough(rung, group);
    if (search_.observer != nullptr)
      search_.observer->looked(search_, state_.group(group),
                               refusal(search_, rung, state_.group(group)));
    if (good) {
      scan(rung, state_.group(group));
      if (search_.status != Status::going) break;
    }
    if (walks(rung) || search_.linear_left > 0) {
      if (!walks(rung)) --search_.linear_left;
      group = group + 1 >= groups ? 0 : group + 1;
    } else {
      const auto next = rung.choose(search_);
      if (search_.observer != nullptr)
        search_.observer->asked_lists(rung.criterion, search_.goal.len, next);
      group = next.value_or(group);
      dry = !next;
    }
  }
  if (looked == groups) ++counters.useless_loops;
  if (search_.status == Status::going && rung.leave != nullptr) rung.leave(search_);
  return index + 1;
}

std::uint32_t GroupSearch::skip(const Rung& rung, std::uint32_t& group, std::uint32_t left) {
  // Read-ahead is an effect of walking: as long as it can still do something, walk.
  if (state_.groups_unread() > 0) return 0;
  if (policy_.full_prefetch && state_.groups_loaded() < state_.group_count()) return 0;
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
  if (search_.observer != nullptr && steps > 0) search_.observer->passed(group, steps, least);
  group = (group + steps) % groups;
  return steps;
}

// Whether to scan the group, loading its buddy if that is worth it (ext4_mb_good_group_nolock).
bool GroupSearch::good_enough(const Rung& rung, std::uint32_t number) {
  const Group& group = state_.group(number);
  ++search_.counters[rung.criterion].groups_considered;
  if (group.free == 0 || group.free < rung.least_free(search_) || group.corrupt) return false;
  if (!group.need_init) return rung.good(search_, group);
  const state::Geometry& geometry = state_.geometry();
  const bool first_of_flex =
      geometry.log_groups_per_flex != 0 && number % geometry.flex_size() == 0;
  const bool no_io = geometry.desc_csum && group.block_uninit;
  if (rung.fast && !first_of_flex && !no_io) return false;
  load(number);
  return rung.good(search_, state_.group(number));
}

void GroupSearch::load(std::uint32_t group) {
  search_.counters.buddies_generated += state_.load(group);
}

// Starts reading the bitmaps of the next batch of groups when the walk reaches it.
void GroupSearch::prefetch_at(const Rung& rung, std::uint32_t at) {
  if (prefetch_next_ != at) return;
  if (rung.fast && prefetch_reads_ >= search_.tunables.mb_prefetch_limit) return;
  if (policy_.full_prefetch) prefetch_finish();
  const state::Geometry& geometry = state_.geometry();
  const std::uint64_t reads_before = prefetch_reads_;
  const std::uint32_t count = policy::prefetch_batch(search_.tunables, geometry, at);
  // Once round the groups is all that read-ahead can do.
  const std::uint32_t groups = state_.group_count();
  std::uint32_t number = at;
  for (std::uint32_t i = 0; i < std::min(count, groups); ++i) {
    Group& group = state_.group(number);
    const bool uninit = geometry.desc_csum && group.block_uninit;
    if (state_.mark_read(group) && group.need_init && group.disk_free > 0 && !group.corrupt &&
        !uninit)
      ++prefetch_reads_;
    if (++number >= groups) number = 0;
  }
  prefetch_next_ = count < groups ? number : (at + count % groups) % groups;
  prefetch_end_ = prefetch_next_;
  prefetch_count_ = prefetch_reads_ == reads_before && !policy_.full_prefetch ? 0 : count;
}

// Generates the buddies of the last batch, backwards.
void GroupSearch::prefetch_finish() {
  const state::Geometry& geometry = state_.geometry();
  // 6.1 goes by where the last criterion started, if it has not prefetched itself.
  std::uint32_t number = policy_.full_prefetch ? prefetch_end_ : prefetch_next_;
  prefetch_count_ = std::min(prefetch_count_, state_.group_count());
  for (; prefetch_count_ > 0; --prefetch_count_) {
    const std::uint32_t previous = number == 0 ? state_.group_count() - 1 : number - 1;
    // 6.1 looks at the descriptor of the group above the one it loads.
    const Group& judged = state_.group(policy_.full_prefetch ? previous : number);
    const bool skip_uninit = !policy_.full_prefetch && geometry.desc_csum && judged.block_uninit;
    if (state_.group(previous).need_init && judged.disk_free > 0 && !skip_uninit) load(previous);
    number = previous;
  }
}

void GroupSearch::scan(const Rung& rung, Group& group) {
  const std::uint32_t found_before = search_.found;
  ++search_.groups_scanned;
  const bool striped =
      rung.striped && search_.stripe != 0 && search_.goal.len % search_.stripe == 0;
  if (rung.scan == Scan::chunks)
    scan_chunks(group);
  else if (striped)
    scan_striped(group);
  if (rung.scan == Scan::extents && search_.status == Status::going &&
      (!striped || policy_.whole_stripes))
    scan_extents(group, rung.skip_short);
  search_.counters[rung.criterion].extents_scanned += search_.found - found_before;
  if (search_.observer != nullptr) search_.observer->scanned(group, search_.found);
}

void GroupSearch::scan_chunks(Group& group) {
  for (std::uint32_t order = search_.order2; order < state_.geometry().orders(); ++order) {
    if (group.counters[order] == 0) continue;
    ++search_.found;
    const std::uint32_t chunk = state_.buddy(group).first_chunk(order);
    search_.best.group = group.number;
    search_.best.start = chunk << order;
    search_.best.len = 1u << order;
    take_best(group);
    if (search_.status == Status::found) ++search_.counters.order2_hits;
    return;
  }
}

void GroupSearch::scan_extents(Group& group, bool skip_short) {
  const std::uint32_t limit = state_.geometry().clusters_per_group;
  std::uint32_t free = group.free;
  std::uint32_t at = group.first_free;
  while (free > 0 && search_.status == Status::going) {
    const state::bitmap::ConstWords words = state_.words(group);
    at = state::bitmap::find_clear(words, limit, at);
    if (at >= limit) break;
    std::uint32_t len = skip_short ? state::bitmap::find_set(words, limit, at) - at : 0;
    if (!skip_short || len >= search_.goal.len) {
      const state::Extent extent = state_.find_extent(group, at, search_.goal.len);
      if (extent.len > free) break;
      measure(group, extent);
      if (!skip_short) len = extent.len;
    }
    at += len;
    free -= std::min(free, len);
  }
  check_limits(group, true);
}

void GroupSearch::scan_striped(Group& group) {
  const state::Geometry& geometry = state_.geometry();
  const bool whole = policy_.whole_stripes;
  const std::uint64_t stripe = search_.stripe;
  const std::uint64_t blocks = whole ? geometry.to_blocks(stripe) : stripe;
  const auto wanted = whole ? search_.goal.len : static_cast<std::uint32_t>(stripe);
  const std::uint64_t first = geometry.first_block(group.number);
  const std::uint64_t offset = (first + blocks - 1) / blocks * blocks - first;
  std::uint64_t at = whole ? offset >> geometry.cluster_bits : offset;
  // 6.1 looks at a stripe that the group's end cuts off too, which is never free.
  const std::uint64_t needed = whole ? wanted : 1;
  for (; at + needed <= geometry.clusters_per_group; at += stripe) {
    const state::Extent extent = state_.find_extent(group, static_cast<std::uint32_t>(at), wanted);
    if (extent.len < wanted) continue;
    ++search_.found;
    search_.best = extent;
    take_best(group);
    return;
  }
}

void GroupSearch::measure(Group& group, const state::Extent& extent) {
  state::Extent& best = search_.best;
  const std::uint32_t wanted = search_.goal.len;
  ++search_.found;
  const bool at_once = (search_.flags & mb::hint_first) != 0 || extent.len == wanted;
  const bool longer_is_better = best.len < wanted;
  const bool better =
      at_once || best.len == 0 ||
      (longer_is_better ? extent.len > best.len : extent.len > wanted && extent.len < best.len);
  if (search_.observer != nullptr) search_.observer->measured(extent, better);
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
  const state::Extent& best = search_.best;
  if (best.len < search_.goal.len) return;
  if (!(finished || search_.found > search_.tunables.mb_min_to_scan) || best.group != group.number)
    return;
  if (state_.find_extent(group, best.start, search_.goal.len).len >= search_.goal.len)
    take_best(group);
}

// Takes the best candidate, cut to the goal's length, out of the group.
void GroupSearch::take_best(Group& group) {
  search_.best.len = std::min(search_.best.len, search_.goal.len);
  search_.best.logical = search_.goal.logical;
  if (steering_ != nullptr && steering_->recorded != nullptr) {
    const state::Extent& want = steering_->recorded->result;
    const state::Extent& have = search_.best;
    if (want.group != have.group || want.start != have.start || want.len != have.len) {
      if (!steering_->forced) steering_->own = {false, search_.goal, have};
      search_.status = Status::stopped;
      search_.best.len = 0;
      steering_->forced = true;
      return;
    }
  }
  const state::Buddy::Split split = state_.take(group, search_.best.start, search_.best.len);
  search_.taken = search_.best;
  search_.status = Status::found;
  search_.tail = split.tail & 0xffff;
  search_.split_order = split.order;
}

// The search ran into its limit: the best candidate will do. If it has gone, any extent will.
void GroupSearch::take_best_or_anything() {
  Group& group = state_.group(search_.best.group);
  load(group.number);
  if (!group.corrupt) {
    const state::Extent extent = state_.find_extent(group, search_.best.start, search_.best.len);
    if (extent.len > 0) {
      search_.best = extent;
      take_best(group);
    }
  }
  if (search_.status == Status::found || (steering_ != nullptr && steering_->forced)) return;
  ++search_.counters.lost;
  search_.best = {};
  search_.goal.len = search_.goal_len;
  search_.status = Status::going;
  search_.flags |= mb::hint_first;
  climb(policy_.ladder.size() - 1);
}

}  // namespace e4r::replay
