// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>

#include "trace/event.h"

namespace e4r::trace::e4t {

// Predicts the fields of the next event from the earlier events of the same block. Encoder and
// decoder run the same code over the same events, so their predictions agree; only differences are
// stored. All arithmetic wraps around, so every value is preserved.
//
// code(op, event) visits the fields of event.kind in a fixed order. For each it calls op(BIT,
// field, expected): the encoder stores the difference under that bit of the event's mask, the
// decoder sets the field. Bits below 7 belong to the fields that differ most often.
class EventModel {
 public:
  // Selects the thread to which the next events belong.
  void select(std::uint32_t pid) { thread_ = (pid * 0x9e3779b1U) >> 28; }

  template <class Op>
  void code(Op& op, Event& e) {
    switch (e.kind) {
// NOLINT below: some kinds share a model.
#define E4R_EVENT(kind, tag, name, body, model, want)       \
  case EventKind::kind: /* NOLINT(bugprone-branch-clone) */ \
    return model(op, e);
#include "trace/events.def"
    }
  }

 private:
  // A thread's last request and its answer.
  struct Thread {
    std::uint64_t ino = 0, count = 1, logical = 0, goal = 0, left_block = 0, right_block = 0;
    std::uint32_t flags = 0, left_logical = 0, right_logical = 0;
    std::uint64_t block = 0, blocks = 0;  // the answer
    RecordedExtent orig, result;          // from the closing event
    bool closed = false;                  // whether the closing event has been seen
    bool has_inputs = false;
    std::uint64_t i_size = 0;
    std::int32_t i_writecount = 0;
  };

  // Returns the first block of a result. Group g begins at base_ + g * per_group_; both numbers are
  // derived from answers.
  std::uint64_t block_of(const RecordedExtent& x) const {
    return base_ + x.group * per_group_ + static_cast<std::uint32_t>(x.start);
  }
  void locate(std::uint64_t block, RecordedExtent& x) const {
    const std::uint64_t offset = block - base_;
    const std::uint64_t group = offset / per_group_;
    x.group = static_cast<std::uint32_t>(group);
    x.start = static_cast<std::int32_t>(offset - group * per_group_);
  }
  void learn(std::uint64_t block, const RecordedExtent& x) {
    const std::uint64_t begin = block - static_cast<std::uint32_t>(x.start);
    if (begin == base_ + x.group * per_group_) return;
    const std::uint32_t groups = x.group - learned_group_;
    if (groups != 0 && x.group > learned_group_ && begin > learned_begin_ &&
        (begin - learned_begin_) % groups == 0)
      per_group_ = (begin - learned_begin_) / groups;
    base_ = begin - x.group * per_group_;
    learned_group_ = x.group;
    learned_begin_ = begin;
  }

  template <class Op>
  void extent(Op& op, int bit, RecordedExtent& x, const RecordedExtent& expected) {
    op(bit, x.group, expected.group);
    op(bit + 1, x.start, expected.start);
    op(bit + 2, x.len, expected.len);
    op(bit + 3, x.logical, expected.logical);
  }

  // Expects each request to continue where the last answer ended.
  template <class Op>
  void request(Op& op, Event& e) {
    Thread& t = threads_[thread_];
    op(1, e.ino, t.ino);
    op(5, e.flags, t.flags);
    op(2, e.count, t.count);
    op(0, e.logical, e.ino == t.ino ? t.logical + t.blocks : 0);
    op(6, e.left_logical, e.logical != 0 ? static_cast<std::uint32_t>(e.logical) - 1 : 0);
    op(3, e.left_block, e.logical != 0 ? t.block + t.blocks - 1 : 0);
    op(4, e.goal, e.left_block != 0 ? e.left_block + (e.logical - e.left_logical) : first_goal_);
    op(7, e.right_logical, t.right_logical);
    op(8, e.right_block, e.right_logical != 0 ? t.right_block : 0);
    inputs(op, e);
    if (e.left_block == 0) first_goal_ = e.goal;
    remember(e);
    t.blocks = e.count;
    t.block = e.goal;
    t.closed = false;
  }

  // Expects the values of the request, and the block that the closing event named.
  template <class Op>
  void allocate(Op& op, Event& e) {
    Thread& t = threads_[thread_];
    op(1, e.count, t.closed ? t.result.len : t.count);
    op(0, e.block, t.closed ? block_of(t.result) : t.goal);
    op(2, e.ino, t.ino);
    op(3, e.flags, t.flags);
    op(4, e.logical, t.logical);
    op(5, e.goal, t.goal);
    op(6, e.left_logical, t.left_logical);
    op(7, e.right_logical, t.right_logical);
    op(8, e.left_block, t.left_block);
    op(9, e.right_block, t.right_block);
    inputs(op, e);
    if (t.closed) learn(e.block, t.result);
    const std::uint64_t asked = t.count;
    remember(e);
    t.count = asked;
    t.block = e.block;
    t.blocks = e.count;
    t.closed = false;
  }

  void remember(const Event& e) {
    Thread& t = threads_[thread_];
    t.ino = e.ino;
    t.flags = e.flags;
    t.count = e.count;
    t.logical = e.logical;
    t.goal = e.goal;
    t.left_logical = e.left_logical;
    t.right_logical = e.right_logical;
    t.left_block = e.left_block;
    t.right_block = e.right_block;
  }

  // i_size and i_writecount of kernels with the trace-inputs patch; other kernels leave both 0.
  template <class Op>
  void inputs(Op& op, Event& e) {
    Thread& t = threads_[thread_];
    op(10, e.has_inputs, t.has_inputs);
    op(11, e.i_size, t.i_size);
    op(12, e.i_writecount, t.i_writecount);
    t.has_inputs = e.has_inputs;
    t.i_size = e.i_size;
    t.i_writecount = e.i_writecount;
  }

  // The requested extent, as clusters of a group.
  RecordedExtent asked() const {
    RecordedExtent x;
    locate(threads_[thread_].goal, x);
    x.len = static_cast<std::uint32_t>(threads_[thread_].count);
    x.logical = static_cast<std::uint32_t>(threads_[thread_].logical);
    return x;
  }
  void close(const Event& e) {
    Thread& t = threads_[thread_];
    t.orig = e.orig;
    t.result = e.result;
    t.closed = true;
  }

  // Expects a hit in the file's preallocation at the goal, and a hit in a locality group's
  // preallocation just after the previous hit.
  template <class Op>
  void prealloc(Op& op, Event& e) {
    op(6, e.ino, threads_[thread_].ino);
    const RecordedExtent want = asked();
    op(2, e.orig.group, want.group);
    op(3, e.orig.start, want.start);
    op(4, e.orig.len, want.len);
    op(5, e.orig.logical, want.logical);
    const bool small = e.orig.logical == 0;
    op(0, e.result.group, small ? locality_.group : e.orig.group);
    op(1, e.result.start, small ? locality_.start : e.orig.start);
    op(7, e.result.len, e.orig.len);
    op(8, e.result.logical, e.orig.logical);
    if (small) advance_locality(e.result);
    close(e);
  }
  void advance_locality(const RecordedExtent& result) {
    locality_.group = result.group;
    locality_.start =
        static_cast<std::int32_t>(static_cast<std::uint32_t>(result.start) + result.len);
  }

  template <class Op>
  void search(Op& op, Event& e) {
    op(7, e.ino, threads_[thread_].ino);
    extent(op, 8, e.orig, asked());
    op(12, e.goal_ex.group, e.orig.group);
    op(13, e.goal_ex.start, e.orig.start);
    op(0, e.goal_ex.len, e.orig.len);
    op(14, e.goal_ex.logical, e.orig.logical);
    op(1, e.result.group, search_.result.group);
    op(2, e.result.start, search_.result.start);
    op(3, e.result.len, e.goal_ex.len);
    op(15, e.result.logical, e.goal_ex.logical);
    op(4, e.found, search_.found);
    op(5, e.groups, search_.groups);
    op(6, e.criterion, search_.criterion);
    op(16, e.flags, threads_[thread_].flags);
    op(17, e.tail, 0U);
    op(18, e.broken, 0U);
    op(19, e.orig_goal_len, search_.has_orig_goal_len ? e.goal_ex.len : 0U);
    search_.has_orig_goal_len = e.orig_goal_len != 0;
    search_.result = e.result;
    search_.result.start =
        static_cast<std::int32_t>(static_cast<std::uint32_t>(e.result.start) + e.result.len);
    search_.found = e.found;
    search_.groups = e.groups;
    search_.criterion = e.criterion;
    close(e);
  }

  template <class Op>
  void new_pa(Op& op, Event& e) {
    op(3, e.ino, threads_[thread_].ino);
    op(0, e.block, block_of(search_.result));
    op(1, e.count, pa_count_);
    op(2, e.logical, e.kind == EventKind::new_group_pa ? e.block : threads_[thread_].logical);
    // The closing event follows and names the same extent.
    locate(e.block, search_.result);
    pa_count_ = e.count;
    if (e.kind == EventKind::new_group_pa) locality_ = search_.result;
  }

  template <class Op>
  void release_inode_pa(Op& op, Event& e) {
    op(2, e.ino, last_ino_);
    run(op, e);
    last_ino_ = e.ino;
  }
  template <class Op>
  void run(Op& op, Event& e) {
    op(0, e.block, run_end_);
    op(1, e.count, run_count_);
    run_end_ = e.block + e.count;
    run_count_ = e.count;
  }

  template <class Op>
  void discard(Op& op, Event& e) {
    op(0, e.ino, last_ino_);
    op(1, e.count, 0U);
    op(2, e.needed, 0U);
    last_ino_ = e.ino;
  }

  template <class Op>
  void discard_any(Op& op, Event& e) {
    op(0, e.count, needed_);
    needed_ = e.count;
  }

  // Expects discards in ascending order.
  template <class Op>
  void discard_blocks(Op& op, Event& e) {
    op(0, e.block, discarded_.block + discarded_.count);
    op(1, e.count, discarded_.count);
    discarded_ = {e.block, e.count, 0};
  }

  // Expects FITRIM to proceed from group to group and to cover each whole group.
  template <class Op>
  void trim_all_free(Op& op, Event& e) {
    op(0, e.group, trimmed_ + 1);
    op(1, e.logical, 0U);
    op(2, e.count, trimmed_to_);
    trimmed_ = e.group;
    trimmed_to_ = e.count;
  }

  // Expects ranges of the same length in the same file.
  template <class Op>
  void shift_range(Op& op, Event& e) {
    op(0, e.logical, shifted_.block);
    op(1, e.count, shifted_.count);
    op(2, e.ino, last_ino_);
    shifted_ = {e.logical, e.count, 0};
    last_ino_ = e.ino;
  }

  // Expects the next clusters of the same group.
  template <class Op>
  void marked_run(Op& op, Event& e) {
    op(0, e.group, marked_group_);
    op(1, e.logical, marked_to_);
    op(2, e.count, marked_len_);
    marked_group_ = e.group;
    marked_to_ = e.logical + e.count;
    marked_len_ = e.count;
  }

  // Expects consecutive transactions.
  template <class Op>
  void begin_commit(Op& op, Event& e) {
    op(0, e.block, tid_ + 1);
    tid_ = e.block;
  }
  template <class Op>
  void end_commit(Op& op, Event& e) {
    op(0, e.block, tid_);
    tid_ = e.block;
  }

  template <class Op>
  void lost(Op& op, Event& e) {
    op(0, e.count, 0);
  }

  template <class Op>
  void free_blocks(Op& op, Event& e) {
    op(2, e.ino, last_ino_);
    op(3, e.mode, mode_);
    op(0, e.block, freed_.block + freed_.count);
    op(1, e.count, freed_.count);
    op(4, e.flags, freed_.flags);
    last_ino_ = e.ino;
    mode_ = e.mode;
    freed_ = {e.block, e.count, e.flags};
  }

  template <class Op>
  void free_extent(Op& op, Event& e) {
    RecordedExtent expected;
    locate(freed_.block, expected);
    expected.len = static_cast<std::uint32_t>(freed_.count);
    op(4, e.ino, last_ino_);
    extent(op, 0, e.result, expected);
  }

  template <class Op>
  void load(Op& op, Event& e) {
    op(0, e.group, loaded_ + 1);
    loaded_ = e.group;
  }

  // Expects adjacent batches.
  template <class Op>
  void prefetch(Op& op, Event& e) {
    op(0, e.group, prefetched_);
    op(1, e.count, e.group);
    op(2, e.needed, 0);
    prefetched_ = static_cast<std::uint32_t>(e.count);
  }

  // Expects entries of an extent status tree to follow each other in the file.
  template <class Op>
  void status_extent(Op& op, Event& e) {
    op(2, e.ino, status_.ino);
    op(0, e.logical, e.ino == status_.ino ? status_.logical : 0);
    op(1, e.count, status_.count);
    op(3, e.flags, status_.flags);
    op(4, e.block, 0U);
    status_ = {e.ino, e.logical + e.count, e.count, e.flags};
  }

  template <class Op>
  void look_up(Op& op, Event& e) {
    op(0, e.ino, status_.ino);
    op(1, e.logical, status_.logical);
    status_.ino = e.ino;
    status_.logical = e.logical;
  }

  // The entry may begin before the block that was looked up.
  template <class Op>
  void answer(Op& op, Event& e) {
    op(0, e.found, found_);
    op(1, e.logical, e.found != 0 ? status_.logical : 0);
    op(2, e.count, e.found != 0 ? status_.count : 0);
    op(3, e.block, 0U);
    op(4, e.flags, e.found != 0 ? status_.flags : 0U);
    op(5, e.ino, status_.ino);
    found_ = e.found;
    if (e.found != 0) status_ = {e.ino, e.logical + e.count, e.count, e.flags};
  }

  template <class Op>
  void shrink(Op& op, Event& e) {
    op(0, e.count, scanned_);
    op(1, e.needed, 0U);
    op(2, e.found, 0U);
    op(3, e.tail, 0U);
    op(4, e.has_inputs, false);
    op(5, e.groups, 0U);
    scanned_ = e.count;
  }

  template <class Op>
  void new_inode(Op& op, Event& e) {
    op(0, e.ino, new_ino_ + 1);
    op(1, e.parent, parent_);
    op(2, e.mode, mode_);
    new_ino_ = e.ino;
    parent_ = e.parent;
    mode_ = e.mode;
    last_ino_ = e.ino;
  }

  template <class Op>
  void free_inode(Op& op, Event& e) {
    op(0, e.ino, last_ino_);
    op(1, e.mode, mode_);
    last_ino_ = e.ino;
    mode_ = e.mode;
  }

  struct Freed {
    std::uint64_t block = 0, count = 0;
    std::uint32_t flags = 0;
  };
  struct Search {
    RecordedExtent result;  // the expected next result
    std::uint32_t found = 0, groups = 0;
    mb::Criterion criterion = mb::Criterion::cr0;
    bool has_orig_goal_len = false;
  };

  // The last extent status entry: its inode, and the block after its end.
  struct StatusEntry {
    std::uint64_t ino = 0, logical = 0, count = 0;
    std::uint32_t flags = 0;
  };

  std::array<Thread, 16> threads_;
  std::uint32_t thread_ = 0;  // an index and not a pointer, since models are copied
  std::uint64_t base_ = 0, per_group_ = 32768, learned_begin_ = 0;
  std::uint32_t learned_group_ = 0;
  std::uint64_t first_goal_ = 0;
  Search search_;
  RecordedExtent locality_;
  Freed freed_;
  Freed discarded_;
  Freed shifted_;  // a range of a file, in bytes
  std::uint64_t last_ino_ = 0, new_ino_ = 0, parent_ = 0, tid_ = 0, needed_ = 0, pa_count_ = 0;
  std::uint64_t run_end_ = 0, run_count_ = 0;
  std::uint32_t loaded_ = 0;
  std::uint32_t prefetched_ = 0;
  std::uint32_t trimmed_ = 0;
  std::uint64_t trimmed_to_ = 0;
  std::uint32_t marked_group_ = 0;
  std::uint64_t marked_to_ = 0, marked_len_ = 0;
  std::uint16_t mode_ = 0;
  StatusEntry status_;
  std::uint32_t found_ = 0;
  std::uint64_t scanned_ = 0;
};

}  // namespace e4r::trace::e4t
