// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/free_order.h"

#include <algorithm>
#include <utility>

namespace e4r::replay {

namespace {

// How many frees of a group are remembered. A group with more frees is ignored until it has no
// freed extent.
constexpr std::size_t kMostFrees = 1 << 16;
// How many steps may be simulated for each free, on average.
constexpr std::uint64_t kStepsPerFree = 16;

}  // namespace

void FreeOrder::note(const Op& op, const state::FreedList& freed, std::uint64_t transaction) {
  if (!many_) {
    if (op.kind != Op::Kind::free) return;
    if (thread_ == 0) thread_ = op.pid;
    many_ = op.pid != thread_;
    if (!many_) return;
  }
  ++steps_;
  event_ = std::max(event_, op.ordinal);
  note_step_of(op.pid);
  if (op.kind != Op::Kind::free) return;
  auto frees = frees_.find(op.group);
  if (!freed.has(op.group)) {
    keep_for_mark(op.group);
    frees = frees_.try_emplace(op.group).first;
    frees->second.clear();
  }
  if (frees == frees_.end()) return;
  if (frees->second.size() == kMostFrees) {
    keep_for_mark(op.group);
    frees_.erase(frees);
    return;
  }
  budget_ += kStepsPerFree;
  frees->second.push_back({steps_, UINT64_MAX, event_, transaction, op.pid, op.start,
                           static_cast<std::uint32_t>(op.count)});
  last_[op.pid] = {op.group, steps_, frees->second.size() - 1};
}

// Records that the thread has come to another step, so its last free has taken effect.
void FreeOrder::note_step_of(std::uint32_t thread) {
  const auto found = last_.find(thread);
  if (found == last_.end()) return;
  const Last last = found->second;
  last_.erase(found);
  const auto frees = frees_.find(last.group);
  if (frees == frees_.end()) return;
  auto own = frees->second.begin() +
             static_cast<std::ptrdiff_t>(std::min(last.index, frees->second.size()));
  if (own == frees->second.end() || own->at != last.at)
    own = std::ranges::lower_bound(frees->second, last.at, {}, &Free::at);
  if (own != frees->second.end() && own->at == last.at) own->until = steps_;
}

void FreeOrder::note_returned(std::uint64_t transaction, std::uint64_t last_event) {
  parts_.push_back({++steps_, transaction, last_event, true});
}

void FreeOrder::note_unlinked(std::uint64_t transaction, std::uint64_t last_event) {
  parts_.push_back({++steps_, transaction, last_event, false});
}

void FreeOrder::clear() {
  frees_.clear();
  parts_.clear();
  last_.clear();
  mark_.reset();
}

void FreeOrder::set_mark() {
  mark_ = {parts_.size(), last_, steps_, event_, budget_, {}};
}

// Keeps the frees of the group as they are now for return_to_mark(), which itself removes the
// frees noted since the mark.
void FreeOrder::keep_for_mark(std::uint32_t group) {
  if (!mark_ || mark_->changed.contains(group)) return;
  const auto frees = frees_.find(group);
  mark_->changed.emplace(group, frees == frees_.end() ? std::vector<Free>() : frees->second);
}

void FreeOrder::return_to_mark() {
  for (auto& [group, frees] : mark_->changed) frees_[group] = std::move(frees);
  mark_->changed.clear();
  for (auto& [group, frees] : frees_)
    while (!frees.empty() && frees.back().at > mark_->steps) frees.pop_back();
  parts_.resize(mark_->parts);
  last_ = mark_->last;
  steps_ = mark_->steps;
  event_ = mark_->event;
  budget_ = mark_->budget;
}

// Moves the free at index `from` to just after the one at index `to`.
std::vector<FreeOrder::Free> FreeOrder::moved(std::vector<Free> frees, std::size_t from,
                                              std::size_t to) {
  const auto first = frees.begin() + static_cast<std::ptrdiff_t>(from);
  const auto last = frees.begin() + static_cast<std::ptrdiff_t>(to);
  first->at = last->at;
  first->event = last->event;
  std::rotate(first, first + 1, last + 1);
  return frees;
}

state::FreedList::Group FreeOrder::simulate(std::uint32_t group, const std::vector<Free>& frees) {
  state::FreedList freed(merging_);
  auto part = frees.empty() ? parts_.begin()
                            : std::ranges::lower_bound(parts_, frees.front().at, {}, &Part::at);
  const auto end_parts = [&](std::uint64_t before) {
    for (; part != parts_.end() && part->at < before; ++part)
      if (part->returned)
        (void)freed.take_committed(part->transaction, part->last_event);
      else
        freed.unlink(part->transaction, part->last_event);
  };
  for (const Free& one : frees) {
    end_parts(one.at);
    (void)freed.add(group, one.start, one.count, one.transaction, one.event);
  }
  end_parts(UINT64_MAX);
  return freed.group(group);
}

std::vector<FreeOrder::Other> FreeOrder::find_others(std::uint32_t group,
                                                     const state::FreedList::Group& now,
                                                     std::size_t most) {
  const auto found = frees_.find(group);
  std::vector<Other> out;
  if (found == frees_.end()) return out;
  const std::vector<Free>& frees = found->second;
  const auto within_budget = [&] {
    const std::uint64_t steps = frees.size() + parts_.size();
    if (budget_ < steps) return false;
    budget_ -= steps;
    return true;
  };
  if (!within_budget() || simulate(group, frees) != now) return out;
  for (std::size_t from = frees.size(); from-- > 0;)
    for (std::size_t to = from + 1; to < frees.size() && frees[to].at < frees[from].until; ++to) {
      if (frees[to].pid == frees[from].pid) continue;
      if (out.size() == most || !within_budget()) return out;
      Other other = {frees[from].event, frees[to].event, simulate(group, moved(frees, from, to))};
      if (other.freed != now) out.push_back(std::move(other));
    }
  return out;
}

void FreeOrder::keep(std::uint32_t group, const Other& other) {
  const auto found = frees_.find(group);
  if (found == frees_.end()) return;
  std::vector<Free>& frees = found->second;
  const auto index = [&](std::uint64_t event) {
    return static_cast<std::size_t>(std::ranges::find(frees, event, &Free::event) - frees.begin());
  };
  const std::size_t from = index(other.event), to = index(other.after);
  if (from >= to || to >= frees.size()) return;
  keep_for_mark(group);
  frees = moved(std::move(frees), from, to);
}

}  // namespace e4r::replay
