// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "replay/free_order.h"
#include "replay/modes.h"
#include "replay/op_stream.h"
#include "replay/schedule.h"
#include "util/status.h"

namespace e4r::replay {

class Trial;

// Follows the recorded kernel, and finds the order in which overlapping allocations took effect. An
// allocation takes its blocks at some moment between its request and its closing event. In the
// right order, each decision has its recorded outcome; in a wrong order, it rarely does. So if a
// decision would differ and others overlap it, the search tries the following places, and uses the
// first that gives the recorded decision:
// - before allocations that have been decided and may have come later (not on kernels with a tree
//   of groups);
// - after operations that precede its closing event;
// - at its request, after the commit in progress has returned the clusters that it got;
// - at its closing event, after the commit in progress has returned part of its extents;
// - at its closing event, after a discarded range has been given back;
// - at its closing event, after a part of the commit whose extents merged in another way, because
//   two overlapping frees took effect in the other order (FreeOrder);
// - at its closing event, or before one decided allocation, with skips of locked groups that its
//   search would only scan (Allocator::would_decide_as_dictated);
// - at its closing event, with an earlier state of groups (not on kernels with lists of groups):
// the
//   search passed these groups before another thread changed them.
// The search is local: it looks only at overlapping allocations, and never reads the trace again. A
// stream's goal needs no search, because the closing event shows it (Dictation::continues_from).
//
// A commit removes freed extents from their groups' trees one by one, while threads add others.
// From 6.18 on, the shape of the trees determines how extents merge. So later decisions show
// whether the search has assumed the right progress of the commit. If it may have been wrong, the
// search goes back to the beginning of the commit and repeats it (repeat_commits).
class OrderSearch final : public Follow {
 public:
  OrderSearch(const state::Source& source, std::unique_ptr<allocator::Model> model,
              const Setup& setup, const TraceFacts& trace)
      : Follow(source, std::move(model), setup, trace),
        frees_(this->model().policy().kernel.freed) {
    at_.trials_left = trials_before(trace);
  }

  Status advance(const Op& op) override;
  Status end(const OpReader& ops) override;

  // Lets the run go back to the beginning of a commit and repeat its operations. The accounts and
  // the layouts of files are wrong afterwards, and decides_in_found_order() is false. So this is
  // for runs that only search. Call it before the first operation.
  void repeat_commits() { repeats_ = true; }
  // Whether the run may still go back to the beginning of a commit.
  [[nodiscard]] bool may_repeat() const { return commit_ != nullptr; }

  // The order found so far. This run itself may have decided some allocations before it found their
  // places. A later Follow can use the order from the beginning.
  [[nodiscard]] const Schedule& found() const { return at_.found; }
  // Whether this run decided all allocations in the order that it found. A Follow in that order
  // then does the same again.
  [[nodiscard]] bool decides_in_found_order() const { return !reordered_; }
  [[nodiscard]] InputTable take_inputs() override {
    InputTable out = Follow::take_inputs();
    out.schedule = at_.found;
    return out;
  }
  // Forgets the order found so far. For a run without an end, if nothing uses the order.
  void forget_order() {
    at_.found = {};
    progress_ = {};
    frees_.clear();
  }
  // Whether allocations are held until later operations show their place.
  [[nodiscard]] bool holds() const { return !at_.held.empty(); }
  [[nodiscard]] std::uint64_t trials_left() const { return at_.trials_left; }
  [[nodiscard]] bool is_settled() const override {
    return Follow::is_settled() && at_.found.empty();
  }

 private:
  // A decided allocation. Allocations that are decided later may belong before it.
  struct Placed {
    Op op;
    state::FsState::GroupPlace before;  // place of its group before it took its clusters
    bool can_undo = false;              // all its clusters were free
  };
  using Others = std::vector<Placed*>;
  using Requests = boost::unordered_flat_set<std::uint64_t>;
  // A change of the list of freed extents: a free at event `event` in the transaction, or, if
  // `count` is 0, the return of the extents that the transaction freed up to that event.
  struct FreedStep {
    std::uint64_t event = 0, transaction = 0;
    std::uint32_t group = 0, start = 0, count = 0;
  };
  // The changes of that list since the beginning of a commit.
  struct FreedSteps {
    std::shared_ptr<allocator::Model> from;  // just before the commit; null if nothing is kept
    std::vector<FreedStep> steps;
    CommitProgress::Notes notes;  // what was found about the commit's progress but not used
  };

  [[nodiscard]] static std::uint64_t trials_before(const TraceFacts& trace);
  Status follow(const Op& op);
  void begin_commit();
  Status end_commit();
  void forget_commit();
  void keep_op(const Op& op);
  void return_to_begin();
  [[nodiscard]] std::uint64_t differing_in_commit() const {
    return agreement().differing() - commit_->mark.agreement.differing();
  }
  [[nodiscard]] bool can_repeat(unsigned times);
  Result<bool> repeat_commit(std::uint64_t limit);
  Status repeat_doubted();
  Result<bool> improve_commit(const std::function<void()>& undo);
  Status use_earlier_progress();
  void note_freed(const FreedStep& step);
  void simulate_freed(const CommitProgress& progress, state::FreedList& out) const;
  [[nodiscard]] bool agrees(const Op& op);
  Status find_place(const Op& op);
  [[nodiscard]] Result<Others> prepare(const Op& op);
  [[nodiscard]] bool agrees_thoroughly(const Op& op, Others& later);
  Status see_earlier(const Op& op);
  using Seen = std::vector<Schedule::Seen>;
  [[nodiscard]] std::optional<Seen> find_seen(const Op& op,
                                              std::span<const state::FreedList::Entry> returned,
                                              std::size_t& tries);
  Status discard(const Op& op);
  void note_reordered();
  void note_commit(std::uint64_t freed);
  void note_change(const state::FreedList::Entry& extent, bool freed, std::uint64_t until = 0);
  void move_here(const Op& op);
  Status place_held(std::size_t index, const Others& later = {});
  Status place_agreeing();
  Status place_closed(std::uint64_t event);
  Status place(const Op& op, const Others& later = {}, std::optional<bool> agreed = {});
  Status decide_before(const Op& op, const Others& later);
  Status commit_before(const Op& op, std::uint64_t freed);
  void test_parts(bool differs);
  void note_step(const Op& op);
  [[nodiscard]] std::optional<std::uint64_t> reorder_frees(const Op& op, std::uint64_t less_than);
  void note_returned(const Op& op);
  void note_missing(const Op& op, std::optional<bool> agreed);
  void note_given_too_early(const Op& op);
  [[nodiscard]] std::optional<std::uint64_t> find_commit(const Op& op);
  [[nodiscard]] std::optional<std::uint64_t> find_needed_commit(const Op& op);
  struct Limits {
    std::uint64_t last_event = UINT64_MAX;  // only extents that were freed by then
    std::size_t most = SIZE_MAX;            // at most so many extents
    // Replaces the freed extents in the group of the result; null to keep them.
    const std::vector<state::FreedList::Entry>* other = nullptr;
  };
  template <class Matters>
  [[nodiscard]] std::optional<std::uint64_t> find_commit(const Op& op, const Matters& matters,
                                                         const Limits& limits);
  Status end_discard_before(const Op& op, std::uint64_t by);
  [[nodiscard]] std::optional<std::uint64_t> find_discard(const Op& op);
  [[nodiscard]] Others still_open();
  [[nodiscard]] Others find_later(const Op& op);
  [[nodiscard]] bool undo(const Placed& placed, Trial& trial);
  [[nodiscard]] bool agrees_and_takes(const Op& op, Trial& trial);
  [[nodiscard]] bool belongs_before(const Op& op, const Others& later);
  [[nodiscard]] bool agree_without(const Others& later);
  void remember(const Placed& placed, const Others& later);

  FreeOrder frees_;  // recorded order of frees, or the one found
  // A part of the commit in progress that was returned recently, and the searches since then.
  struct Test {
    std::uint64_t request = 0;
    unsigned searches = 0, differing = 0;
  };
  std::deque<Test> tests_;
  CommitProgress progress_;  // of the last commit alone, as its allocations show it
  bool reordered_ = false;   // an allocation or a free was moved after others
  // A recent change of free space: an extent that became free (`freed`) because a commit returned
  // it or a preallocation was discarded, or an extent that an allocation took.
  struct Change {
    std::uint64_t event = 0;
    std::uint64_t until = 0;  // event before which it has certainly happened
    state::FreedList::Entry extent;
    bool freed = false;
  };
  // What the search knows at one moment.
  struct Moment {
    Schedule found;
    std::vector<Op> held;        // allocations that wait for their place, in trace order
    std::deque<Placed> placed;   // recent allocations, in the order found
    std::deque<Change> changes;  // the recent ones
    std::uint64_t event = 0;     // number of the last operation's event
    std::uint64_t moved_to = 0;  // event after which the last moved allocation takes effect
    // Recorded: the commit in progress has returned the extents freed up to this event; 0: not
    // known, or an allocation's place takes it into account already.
    std::uint64_t returned = 0;
    std::uint64_t trials_left = 0;  // how many trials the search may still make
  };
  Moment at_;
  std::uint64_t commit_began_ = 0;  // event number of the last commit_flushing
  bool thorough_ = false;           // whether agrees() is thorough (would_agree)
  // How many times extents of the commit in progress may still be given back in trials.
  std::uint64_t entries_left_ = 0;

  // ---- The repetition of commits.

  // The state of the search just before a commit, and the operations since then.
  struct Commit {
    Mark mark;
    std::shared_ptr<allocator::Model> model;
    std::uint64_t cost = 0;  // of a copy, in operations that take as long
    Moment at;
    // What the next repetition knows about the commit's progress.
    CommitProgress::Notes notes = {};
    std::vector<Op> ops = {};
  };
  bool repeats_ = false;            // as repeat_commits() set it
  std::unique_ptr<Commit> commit_;  // the last commit; null if it cannot be repeated
  FreedSteps before_, since_;       // since the last commit but one, and since the last one
  std::shared_ptr<allocator::Model> spare_;  // of an earlier commit
  // Allocations (Op::request) before which the commit has perhaps returned less than the search
  // assumed, because many of the next searches have another result.
  Requests doubted_;
  bool has_new_doubt_ = false;
  // Budgets in operations. Each operation adds to them, so copies and repetitions hardly more than
  // double the time of the search.
  std::uint64_t copies_left_ = 1 << 18, repeats_left_ = 1 << 18;
};

}  // namespace e4r::replay
