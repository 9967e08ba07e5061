// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/dictation.h"

#include <algorithm>
#include <optional>

namespace e4r::replay {

using allocator::Choice;
using allocator::Normalized;
using allocator::SizeStep;

namespace {

Extent extent_of(const trace::RecordedExtent& e) {
  return {e.group, static_cast<std::uint32_t>(e.start), e.len, e.logical};
}

// The order lists from which a criterion of Linux 6.1 takes its first group, if it uses such lists.
std::optional<state::OrderLists> order_lists_of(mb::Criterion criterion) {
  if (criterion == mb::Criterion::cr0) return state::OrderLists::largest;
  if (criterion == mb::Criterion::cr1) return state::OrderLists::average;
  return std::nullopt;
}

// Whether a criterion can have trimmed the goal. A criterion that walks from group to group does
// not trim. A policy without any index is not the recorded kernel's policy, so it does not show
// whether the goal was trimmed.
bool may_trim(const allocator::Allocator& allocator) {
  const allocator::GroupRules& rules = allocator.policy().kernel.groups;
  const state::FsState& state = allocator.state();
  return rules.index == state::GroupIndex::none ||
         (state.index() != state::GroupIndex::none &&
          is_indexed(rules.indexed, state.geometry().extents));
}

}  // namespace

Dictation::Dictation(const Op& op, const allocator::Allocator& allocator, const Spans& spans)
    : op_(op),
      allocator_(allocator),
      spans_(spans),
      recorded_{op.closing.prealloc, extent_of(op.closing.goal), extent_of(op.closing.result)},
      hides_goal_(may_trim(allocator) && mb::row_of(op.closing.criterion).trims &&
                  op.closing.orig_goal_len == 0) {}

allocator::Mode Dictation::mode(allocator::Mode by_size, bool has_prealloc) {
  if (!recorded_.prealloc) return by_size;
  return has_prealloc ? allocator::Mode::unknown : allocator::Mode::group;
}

// Whether normalisation produced the recorded goal. If the goal was trimmed and its full length was
// not recorded, checks the file block of the preallocation that the result became instead of the
// length.
bool Dictation::fits(const allocator::Search& search, const Normalized& normalized) const {
  const Extent& goal = normalized.goal;
  const std::uint32_t len = recorded_.goal.len;
  if (!normalized.consistent || goal.logical != recorded_.goal.logical) return false;
  const bool stream = (search.flags & mb::stream_alloc) != 0;
  const bool hides_flag = stream && clears_try_goal(allocator_.policy().kernel.stream);
  if (!hides_flag && normalized.flags != (op_.closing.flags & mb::hint_try_goal)) return false;
  if (!hides_goal_) return goal.len == std::max(op_.closing.orig_goal_len, len);
  return goal.len > len &&
         (!op_.placed_at ||
          *op_.placed_at == allocator::place_in_goal(search.state.geometry(), search.orig, goal,
                                                     recorded_.result.len,
                                                     allocator_.policy().kernel.preallocs.placed));
}

bool Dictation::leads_to_find(const allocator::Search& search, const Normalized& normalized) const {
  const allocator::Decision found = allocator_.would_find(search, normalized);
  return found.success && found.criterion == op_.closing.criterion &&
         same_clusters(found.result, recorded_.result) && found.goal.len == recorded_.goal.len &&
         (found.found & mb::recorded_bits) == op_.closing.found;
}

SizeStep Dictation::size(const allocator::Search& search, const allocator::Request& request,
                         const state::InodePreallocs* preallocs, SizeStep likely) {
  std::optional<SizeStep> fallback;  // leads to the recorded goal, but not to the recorded result
  for (int i = -1; i < allocator::kSizeSteps; ++i) {
    const SizeStep step = i < 0 ? likely : static_cast<SizeStep>(i);
    if (i >= 0 && step == likely) continue;
    const Normalized normalized =
        allocator::normalize(search.state.geometry(), search, request, preallocs, step,
                             allocator_.policy().kernel.remembers.neighbour);
    if (!fits(search, normalized)) continue;
    if (!hides_goal_ || leads_to_find(search, normalized)) return step;
    if (!fallback) fallback = step;
  }
  return fallback.value_or(likely);
}

// Finds the stream goal that this search read, and returns the number of the request that set it. A
// search reads the goal at some time after its request, and replaces it before its closing event.
// So it may have read any goal that no other search had certainly replaced before the request.
std::uint64_t Dictation::continues_from(const allocator::StreamGoals& goals, std::uint64_t ino) {
  const trace::RecordedExtent& goal = op_.closing.goal;
  const auto start = static_cast<std::uint32_t>(goal.start);
  if (!goals.has(ino, goal.group, start)) return allocator::kLatestGoal;
  std::uint64_t found = allocator::kLatestGoal;
  bool latest = true;
  std::uint64_t replaced = 0;  // every goal set before this event was replaced before the request
  goals.for_each(ino, [&](const allocator::StreamGoals::Goal& left) {
    const Spans::Span* span = spans_.find(left.request);
    const std::uint64_t closed = span == nullptr ? 0 : span->closed;
    if (closed >= replaced && goals.shows(left, goal.group, start)) {
      if (!latest) found = left.request;
      return false;
    }
    latest = false;
    if (span != nullptr && closed < op_.asked_at) replaced = std::max(replaced, span->asked);
    return true;
  });
  return found;
}

bool Dictation::accepts(const Choice& choice) {
  const bool none = choice.result.len == 0;
  const bool same = same_clusters(choice.result, recorded_.result);
  bool accepted = none ? recorded_.result.len == 0 : same;
  if (choice.prealloc) accepted = recorded_.prealloc ? !none && same : none;
  if (accepted || forced_) return accepted;
  forced_ = true;
  own_ = choice;
  own_.prealloc = choice.prealloc && !none;
  const auto lists = order_lists_of(op_.closing.criterion);
  if (lists && allocator_.state().is_behind(*lists, recorded_.result.group, own_.result.group))
    lagging_lists_ = lists;
  return false;
}

bool Dictation::doubts(mb::Criterion criterion, std::uint32_t found, std::uint32_t groups_scanned) {
  const Closing& c = op_.closing;
  if (c.criterion >= mb::Criterion::unknown) return false;
  return criterion < c.criterion || (found & mb::recorded_bits) != c.found ||
         (groups_scanned & mb::recorded_bits) != c.groups;
}

bool Dictation::confirms(const allocator::Decision& found) {
  const Closing& c = op_.closing;
  const bool same = found.success && !c.prealloc && found.criterion == c.criterion &&
                    same_clusters(found.result, recorded_.result) &&
                    same_clusters(found.goal, recorded_.goal) &&
                    (found.found & mb::recorded_bits) == c.found &&
                    (found.groups_scanned & mb::recorded_bits) == c.groups &&
                    found.tail == c.tail && found.broken == c.broken;
  if (same) forced_ = false;
  return same;
}

allocator::Decision Dictation::models_decision(const allocator::Decision& decision) const {
  if (!forced_) return decision;
  allocator::Decision own = decision;
  own.prealloc = own_.prealloc;
  own.result = own_.result;
  own.goal = own_.goal;
  return own;
}

}  // namespace e4r::replay
