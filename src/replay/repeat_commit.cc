// SPDX-License-Identifier: GPL-2.0-or-later
// The part of OrderSearch that goes back to the beginning of a commit.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "replay/order_search.h"

namespace e4r::replay {

namespace {

// The most operations of a commit that can be repeated: 32 MiB.
constexpr std::size_t kMostOps = 1 << 17;
// The most changes of freed extents from one commit to the next that are kept: 32 MiB.
constexpr std::size_t kMostSteps = 1 << 20;

// How many clusters of groups, freed extents, files or places of the order are copied in the time
// of one operation. After the first commits, copies may take one part in kOpsPerCopied of the time
// of all operations.
constexpr std::uint64_t kClustersPerOp = 5461;
constexpr std::uint64_t kFreedPerOp = 4, kFilesPerOp = 64, kPlacesPerOp = 64;
constexpr std::uint64_t kOpsPerCopied = 4;
// How many trials a repetition may make for each operation, unless it repeats an earlier run as it
// was.
constexpr std::uint64_t kTrialsPerOp = 32;

}  // namespace

// Keeps the present moment, so that the commit that begins now can be repeated.
void OrderSearch::begin_commit() {
  if (before_.from) spare_ = std::move(before_.from);
  before_ = std::exchange(since_, {});
  const state::FsState& state = model().state();
  if (!repeats_ || model().policy().kernel.freed != state::FreedMerging::parent ||
      trace().discards_recorded || !trace().trims.empty() || !state.discarding().empty())
    return;
  const std::uint64_t clusters =
      std::uint64_t{state.geometry().clusters_per_group} * state.groups_loaded();
  const std::uint64_t cost = clusters / kClustersPerOp +
                             state.freed().entries().size() / kFreedPerOp +
                             file_facts().size() / kFilesPerOp + at_.found.moves() / kPlacesPerOp;
  if (copies_left_ < kOpsPerCopied * cost) return;
  copies_left_ -= kOpsPerCopied * cost;
  since_.from = std::move(spare_);
  if (!since_.from)
    since_.from =
        std::make_shared<allocator::Model>(source(), model().policy(), model().tunables());
  since_.from->copy_from(model());
  commit_.reset(new Commit{.mark = mark(), .model = since_.from, .cost = cost, .at = at_});
  frees_.set_mark();
}

void OrderSearch::forget_commit() {
  if (commit_ && commit_->notes.empty()) since_.notes = progress_.last();
  doubted_.clear();
  has_new_doubt_ = false;
  commit_.reset();
}

// Notes a change of the list of freed extents.
void OrderSearch::note_freed(const FreedStep& step) {
  if (!since_.from) return;
  if (since_.steps.size() < kMostSteps)
    since_.steps.push_back(step);
  else
    since_ = {};
}

// Keeps an operation of the commit in progress.
void OrderSearch::keep_op(const Op& op) {
  ++repeats_left_;
  ++copies_left_;
  if (!commit_) return;
  if (commit_->ops.size() < kMostOps)
    commit_->ops.push_back(op);
  else
    forget_commit();
}

void OrderSearch::return_to_begin() {
  return_to(commit_->mark);
  model().copy_from(*commit_->model);
  at_ = commit_->at;
  since_.steps.clear();
  frees_.return_to_mark();
  note_reordered();
}

// Whether the commit can be repeated so many times. If so, takes this from the budget.
bool OrderSearch::can_repeat(unsigned times) {
  const std::uint64_t cost = times * (commit_->ops.size() + commit_->cost);
  if (repeats_left_ < cost) return false;
  repeats_left_ -= cost;
  return true;
}

// Repeats the operations of the commit, and begins again for each new doubt. Returns false, in the
// middle of the commit, once `limit` decisions differ in it.
Result<bool> OrderSearch::repeat_commit(std::uint64_t limit) {
  const std::vector<Op>& ops = commit_->ops;
  const auto begin = [&]() -> std::size_t {
    return_to_begin();
    at_.trials_left = std::min(at_.trials_left, kTrialsPerOp * ops.size());
    return 0;
  };
  for (std::size_t done = begin(); done < ops.size();) {
    E4R_CHECK(follow(ops[done++]));
    if (differing_in_commit() >= limit) return false;
    if (std::exchange(has_new_doubt_, false) && can_repeat(1)) done = begin();
  }
  return true;
}

Status OrderSearch::repeat_doubted() {
  if (!commit_ || !std::exchange(has_new_doubt_, false) || !can_repeat(1)) return {};
  E4R_CHECK(repeat_commit(UINT64_MAX));
  return {};
}

// Repeats the commit after a change of what is known at its beginning. If no fewer decisions differ
// then, calls `undo` and repeats the commit as it was. Returns whether the change is kept.
Result<bool> OrderSearch::improve_commit(const std::function<void()>& undo) {
  const Requests doubted = doubted_;
  E4R_TRY(const bool better, repeat_commit(differing_in_commit()));
  if (better) return true;
  undo();
  doubted_ = doubted;
  return_to_begin();
  for (const Op& op : commit_->ops) E4R_CHECK(follow(op));
  return false;
}

// Ends the last commit. If decisions differ in it, repeats it first with what is known about the
// progress of the commit before it, and then about its own progress. Keeps what makes fewer
// decisions differ.
Status OrderSearch::end_commit() {
  if (!commit_) return {};
  if (differing_in_commit() > 0) E4R_CHECK(use_earlier_progress());
  bool better = true;
  while (better && differing_in_commit() > 0 && !progress_.last().empty() && can_repeat(2)) {
    CommitProgress::Notes notes = progress_.last();
    std::swap(commit_->notes, notes);
    E4R_TRY(better, improve_commit([&] { commit_->notes = std::move(notes); }));
  }
  forget_commit();
  return {};
}

// Repeats the commit with what is known about the progress of the commit before it: which extents
// that commit had removed from their groups' trees when others were freed. This determines how the
// others merged.
Status OrderSearch::use_earlier_progress() {
  if (before_.notes.empty() || before_.steps.empty() || !can_repeat(2)) return {};
  Schedule found = commit_->at.found;
  found.progress().set_last(before_.notes);
  state::FreedList plain(state::FreedMerging::parent), shaped(state::FreedMerging::parent);
  simulate_freed(CommitProgress(), plain);
  simulate_freed(found.progress(), shaped);
  state::FreedList& freed = commit_->model->own_state().own_freed();
  std::map<std::uint32_t, state::FreedList::Group> replaced;
  std::set<std::uint32_t> groups;
  for (const FreedStep& step : before_.steps)
    if (step.count != 0) groups.insert(step.group);
  for (const std::uint32_t group : groups) {
    state::FreedList::Group now = freed.group(group);
    const state::FreedList::Group other = shaped.group(group);
    if (other == now || plain.group(group) != now) continue;
    freed.set_group(group, other);
    replaced.emplace(group, std::move(now));
  }
  if (replaced.empty()) return {};
  std::swap(commit_->at.found, found);
  E4R_CHECK(improve_commit([&] {
    std::swap(commit_->at.found, found);
    for (const auto& [group, was] : replaced) freed.set_group(group, was);
  }));
  return {};
}

// Makes `out` the freed extents at the beginning of the last commit, if the commit before it had
// this progress.
void OrderSearch::simulate_freed(const CommitProgress& progress, state::FreedList& out) const {
  const std::uint64_t transaction = before_.from->running();
  out.copy_from(before_.from->state().freed());
  for (const FreedStep& step : before_.steps) {
    if (step.count == 0) {
      (void)out.take_committed(step.transaction, step.event);
      continue;
    }
    if (const std::uint64_t removed = progress.estimate(step.event); removed != 0)
      out.unlink(transaction, removed);
    (void)out.add(step.group, step.start, step.count, step.transaction, step.event);
  }
}

}  // namespace e4r::replay
