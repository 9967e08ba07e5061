// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/search_reasons.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "allocator/policy.h"
#include "allocator/rungs.h"
#include "allocator/search.h"

namespace e4r::replay {

using allocator::Refusal;

namespace {

// Whether the group has no room for the goal. The rules of a plugin policy's rung are unknown here.
bool is_too_small(const allocator::Rung& rung, Refusal refusal) {
  if (refusal == Refusal::few_free) return true;
  const bool ours = rung.good == allocator::good_cr0 || rung.good == allocator::good_cr0_5_4 ||
                    rung.good == allocator::good_average;
  return ours && (refusal == Refusal::low_order || refusal == Refusal::low_average);
}

}  // namespace

std::uint32_t SearchReasons::long_goal() const {
  const auto most =
      std::max_element(too_long_by_goal_.begin(), too_long_by_goal_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == too_long_by_goal_.end() ? 0 : most->first;
}

void SearchReasons::begin(allocator::Decider& decider) {
  indexed_ = decider.policy().kernel.groups.indexed;
  decider.observe(this);
}

void SearchReasons::asked(const Asked&) {
  now_ = {};
  first_goal_ = found_ = 0;
  lost_extents_ = 0;
  lost_ = walks_ = lists_ = false;
}

void SearchReasons::on_rung(const allocator::Search& search, const allocator::Rung& rung,
                            std::uint32_t) {
  search_ = &search;
  if (first_goal_ == 0) first_goal_ = search.goal.len;
  lost_ = (search.flags & mb::hint_group_alloc) != 0 && search.goal.len < first_goal_;
  const bool indexed = allocator::is_indexed(indexed_, search.state.geometry().extents);
  const bool by_sets = rung.classes != nullptr && search.state.index() == state::GroupIndex::sets;
  const bool by_lists = rung.choose != nullptr && search.state.has_lists();
  asked_ = striped_ = false;
  lists_ = indexed && (by_sets || by_lists);
  walks_ = !lists_ && (rung.classes != nullptr || rung.choose != nullptr);
}

void SearchReasons::on_index(mb::Criterion, std::uint32_t, std::optional<std::uint32_t>) {
  lists_ = false;
  asked_ = true;
}

void SearchReasons::add_too_long(std::uint32_t goal, std::uint64_t groups) {
  if (groups == 0) return;
  add(Reason::goal_too_long, groups);
  too_long_by_goal_[goal] += groups;
}

void SearchReasons::on_listed(const allocator::Search& search, const state::Group& group) {
  if (lost_)
    add(Reason::lost_goal, 1);
  else if (group.free == 0)
    add(Reason::full_in_lists, 1);
  else
    add_too_long(search.goal.len, 1);
}

void SearchReasons::on_group(const allocator::Search& search, const allocator::Rung& rung,
                             const state::Group& group) {
  if (lost_) return add(Reason::lost_goal, 1);
  striped_ = allocator::is_striped(search, rung);
  const Refusal refusal = allocator::refusal(search, rung, group);
  if (refusal == Refusal::none) return;
  if (walks_) return add(Reason::walk, 1);
  if (lists_ && search.tunables.mb_max_linear_groups > 0) return add(Reason::linear_groups, 1);
  if (refusal == Refusal::not_loaded) return add(Reason::not_loaded, 1);
  if (is_too_small(rung, refusal)) add_too_long(search.goal.len, 1);
}

void SearchReasons::on_pass(std::uint32_t group, std::uint32_t count, std::uint32_t) {
  if (lost_ || walks_) return add(lost_ ? Reason::lost_goal : Reason::walk, count);
  std::uint64_t few = 0;
  for (std::uint32_t i = 0; i < count; ++i)
    few += search_->state.group((group + i) % search_->groups).free > 0 ? 1 : 0;
  add_too_long(search_->goal.len, few);
}

void SearchReasons::on_scan(const state::Group&, std::uint32_t found) {
  if (lost_) lost_extents_ += found - std::min(found, found_);
  // A group that an index yields is considered twice: in the index, and again before it is
  // searched.
  if (!lost_ && striped_ && found == found_) add(Reason::unaligned, asked_ ? 2 : 1);
  found_ = found;
}

// Remembers the clusters that a search took, and finds the search whose preallocation served the
// request.
void SearchReasons::keep(const Decided& one) {
  const allocator::Decision& made = one.made;
  if (!made.success) return;
  if (made.prealloc) {
    const auto after = taken_.upper_bound(made.block);
    if (after == taken_.begin()) return;
    const auto& [first, taken] = *std::prev(after);
    if (made.block - first < taken.len) served_ = taken.why;
    return;
  }
  const Geometry& geometry = one.decider.state().geometry();
  const std::uint64_t first = geometry.block_of(made.result.group, made.result.start);
  const std::uint64_t len = geometry.to_blocks(made.result.len);
  taken_.erase(taken_.lower_bound(first), taken_.lower_bound(first + len));
  taken_[first] = {len, served_};
}

bool SearchReasons::decided(const Decided& one) {
  const SearchCost cost = meter_.take(one);
  const bool stopped = one.decider.counters().breaks != breaks_;
  breaks_ = one.decider.counters().breaks;
  add(Reason::lost_goal, lost_extents_);
  if (stopped) add(Reason::max_to_scan, cost.extents - std::min(cost.extents, lost_extents_));
  const std::uint64_t all = cost.steps();
  const std::uint64_t known = std::accumulate(now_.begin(), now_.end(), std::uint64_t{0});
  add(Reason::other, all - std::min(all, known));
  for (std::size_t i = 0; i < kReasons; ++i) steps_[i] += now_[i];
  served_ = lost_ ? Reason::lost_goal : stopped ? Reason::max_to_scan : Reason::other;
  keep(one);
  return true;
}

void SearchReasons::placed(std::uint64_t, const FileLayout& file, const FileExtent& extent) {
  if (extent.len == 0 || file.extents().empty()) return;
  const FileExtent* const left = extent.logical > 0 ? file.find(extent.logical - 1) : nullptr;
  const FileExtent* const right = file.find(extent.end());
  const bool continues = (left != nullptr && left->is_continued_by(extent)) ||
                         (right != nullptr && extent.is_continued_by(*right));
  if (!continues) ++extents_[static_cast<std::size_t>(served_)];
}

}  // namespace e4r::replay
