// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/op_stream.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "replay/checkpoint.h"
#include "replay/intake.h"

namespace e4r::replay {

using trace::Event;
using trace::EventKind;

namespace {

constexpr std::uint64_t kMax32 = std::numeric_limits<std::uint32_t>::max();

std::uint32_t saturated(std::uint64_t n) {
  return static_cast<std::uint32_t>(std::min(n, kMax32));
}

}  // namespace

std::string_view race_text(Race race) {
  switch (race) {
    case Race::inodes:
      return "another thread allocated or freed an inode at the same time";
    case Race::allocator:
      return "another thread was at work in the allocator at the same time";
    case Race::none:
      break;
  }
  return "";
}

OpStream::OpStream(trace::EventSource& source, const Geometry& geometry, const TraceStart& start)
    : source_(source), geometry_(geometry), loaded_(geometry.groups, start.loaded) {
  if (start.from == nullptr) return;
  for (const Checkpoint::Freed& freed : start.from->freed) {
    ++ordinal_;
    if (running_.size() < kWindow)
      running_.push_back(
          {ordinal_, 0, freed.group, freed.start, std::int64_t{freed.start} + freed.count});
  }
  freeing_data_.insert(start.from->freeing_data.begin(), start.from->freeing_data.end());
}

Result<Op*> OpStream::next() {
  if (std::exchange(handed_out_, false)) queue_.pop();
  for (;;) {
    if (queue_.size() > kWindow && queue_.front().open) {
      open_.erase(queue_.front().pid);
      drop(queue_.front());
    }
    while (!queue_.empty() && !queue_.front().open) {
      if (queue_.front().kind != Op::Kind::nothing) {
        handed_out_ = true;
        return &queue_.front();
      }
      queue_.pop();
    }
    if (queue_.size() > kWindow) continue;
    if (ended_) return static_cast<Op*>(nullptr);
    E4R_TRY(const auto batch, source_.next());
    if (batch.empty()) {
      ended_ = true;
      drop_open();
      discards_.settle_all([this](const Event& discard) { push_discard(discard); });
      continue;
    }
    for (const Event& event : batch) accept(event);
  }
}

void OpStream::drop(Op& op) {
  op.open = false;
  op.kind = Op::Kind::nothing;
  ++unanswered_;
}

void OpStream::drop_open() {
  open_.for_each([this](std::uint64_t number) { drop(queue_[number]); });
  open_.clear();
}

void OpStream::note_stray() {
  if (strays_++ == 0) first_stray_ = ordinal_;
}

Op& OpStream::push(Op::Kind kind, const Event& event) {
  Op& op = queue_.push();
  op.kind = kind;
  op.cpu = event.cpu;
  op.pid = event.pid;
  op.time_ns = event.time_ns;
  op.ordinal = ordinal_;
  op.ino = event.ino;
  op.count = event.count;
  return op;
}

Op* OpStream::open_op(std::uint32_t pid) {
  const std::uint64_t* number = open_.find(pid);
  return number == nullptr ? nullptr : &queue_[*number];
}

// Handles the load of a buddy. A load during the thread's own allocation needs no operation, since
// the model loads the group as well. A repeated load needs an operation. It happens because buddies
// are in the page cache, which drops them under memory pressure.
void OpStream::on_load(const Event& event) {
  const bool known = event.group < loaded_.size();
  const bool again = known && loaded_[event.group];
  if (known) loaded_[event.group] = true;
  const bool by_search = open_op(event.pid) != nullptr;
  if (again && by_search) {
    push(Op::Kind::reclaim_group, event).group = event.group;
    (void)move_here(event.pid);
  } else if (again) {
    push(Op::Kind::reload_group, event).group = event.group;
  } else if (!by_search) {
    push(Op::Kind::load_group, event).group = event.group;
  }
}

// Handles the event with which FITRIM reaches a group. The thread's ext4_discard_blocks events
// follow. The thread may load the group's bitmaps again in between.
void OpStream::on_trim(const Event& event) {
  Discarding& thread = discarding_thread(event);
  Op& op = push(Op::Kind::trim_group, event);
  op.group = event.group;
  op.start = saturated(event.logical);
  op.count = event.count >= event.logical ? event.count - event.logical + 1 : 0;
  op.request = ++trims_;
  thread.trim = trims_;
  thread.group = event.group;
  thread.sent_ns.reset();
}

void OpStream::on_discard(const Event& event) {
  Discarding& thread = discarding_thread(event);
  Op& op = push(Op::Kind::discard_blocks, event);
  op.group = geometry_.group_of(event.block);
  op.start = geometry_.cluster_in_group(event.block);
  op.count = geometry_.to_clusters(event.count);
  if (thread.trim != 0 && thread.group != op.group) thread = {};
  op.request = thread.trim;
  if (thread.trim == 0 && worker_ != event.pid) {
    const auto before = discarding_.find(std::exchange(worker_, event.pid));
    if (before != discarding_.end() && before->second.trim == 0) discarding_.erase(before);
  } else if (thread.trim != 0 && thread.sent_ns && event.time_ns > *thread.sent_ns) {
    thread.longest_ns = std::max(thread.longest_ns, event.time_ns - *thread.sent_ns);
  }
  thread.sent_ns = event.time_ns;
  late_ns_ = std::min(late_ns_, late_ns(thread));
  note_change(event);
}

// Returns the entry of the event's thread. A file system has at most a few FITRIMs at a time. So a
// trace with more than kMostThreads is wrong, and the ranges of all threads are given back.
OpStream::Discarding& OpStream::discarding_thread(const Event& event) {
  constexpr std::size_t kMostThreads = 64;
  if (discarding_.size() >= kMostThreads && !discarding_.contains(event.pid)) {
    for (auto& [pid, thread] : discarding_) end_discard(thread, event);
    discarding_.clear();
  }
  return discarding_[event.pid];
}

// The time by which the last discard of the thread has certainly finished.
std::uint64_t OpStream::late_ns(const Discarding& thread) {
  constexpr std::uint64_t kLeastNs = 100'000'000, kTimes = 4;
  return thread.sent_ns ? *thread.sent_ns + std::max(kLeastNs, kTimes * thread.longest_ns)
                        : UINT64_MAX;
}

// The thread's next event shows that its last discard has finished. No event follows the last
// discard of a FITRIM or of the worker, so it counts as finished after some time (late_ns).
void OpStream::end_discards(const Event& event) {
  const auto same = discarding_.find(event.pid);
  if (same != discarding_.end() && event.kind != EventKind::discard_blocks &&
      event.kind != EventKind::buddy_bitmap_load && event.kind != EventKind::bitmap_load) {
    end_discard(same->second, event);
    if (event.kind != EventKind::trim_all_free) discarding_.erase(same);
  }
  if (event.time_ns < late_ns_) return;
  late_ns_ = UINT64_MAX;
  for (auto& [pid, thread] : discarding_) {
    if (thread.sent_ns && event.time_ns >= late_ns(thread)) end_discard(thread, event);
    late_ns_ = std::min(late_ns_, late_ns(thread));
  }
}

void OpStream::end_discard(Discarding& thread, const Event& event) {
  if (!thread.sent_ns) return;
  thread.sent_ns.reset();
  push(Op::Kind::discarded, event).request = thread.trim;
  note_change(event);
}

void OpStream::push_discard(const Event& event) {
  push(Op::Kind::discard_inode, event).count = 0;
}

void OpStream::on_free(const Event& event) {
  note_freed(event);
  note_change(event);
  Op& op = push(Op::Kind::free, event);
  op.group = event.result.group;
  op.start = static_cast<std::uint32_t>(event.result.start);
  op.count = event.result.len;
  op.file_data = freeing_data_.contains(event.pid);
}

void OpStream::accept(const Event& event) {
  ++ordinal_;
  if (!discarding_.empty()) end_discards(event);
  if (!discards_.empty())
    discards_.settle(event, ordinal_, [this](const Event& discard) { push_discard(discard); });
  switch (event.kind) {
    case EventKind::request_blocks:
      return on_request(event);
    case EventKind::mballoc_alloc:
    case EventKind::mballoc_prealloc:
      return on_closing(event);
    case EventKind::allocate_blocks:
      return on_answer(event);
    case EventKind::new_inode_pa:
      note_placed(event);
      return on_new_pa(event);
    case EventKind::new_group_pa:
      return on_new_pa(event);
    case EventKind::mark_used:
      if (Op* const op = move_here(event.pid)) op->marked = true;
      return;
    case EventKind::mark_freed:
      return on_mark_freed(event);
    case EventKind::release_inode_pa:
    case EventKind::release_group_pa:
      note_freed(event);
      return note_change(event);
    case EventKind::mballoc_free:
      return on_free(event);
    case EventKind::free_blocks:
      // The ext4_mballoc_free events of this call follow. Blocks of directories, symbolic links,
      // extent trees and attributes are metadata.
      if (S_ISREG(event.mode) && (event.flags & trace::fb::metadata) == 0)
        freeing_data_.insert(event.pid);
      else
        freeing_data_.erase(event.pid);
      return;
    case EventKind::collapse_range:
    case EventKind::insert_range:
      return on_shift(event);
    case EventKind::discard_preallocations:
      if (!shifting_.empty()) end_shift(event);
      if (may_be_late(event))
        discards_.add(event, ordinal_);
      else if (begins_discard(event))
        push_discard(event);
      return;
    case EventKind::buddy_bitmap_load:
      return on_load(event);
    case EventKind::prefetch_bitmaps: {
      Op& op = push(Op::Kind::prefetched, event);
      op.group = event.group;
      op.count = event.count;
      return;
    }
    case EventKind::allocate_inode:
      note_inode(event);
      push(Op::Kind::allocate_inode, event).mode = event.mode;
      return;
    case EventKind::free_inode:
      note_inode(event);
      push(Op::Kind::free_inode, event);
      return;
    case EventKind::commit_flushing:
      committing_.swap(running_);
      commit_began_ = ordinal_;
      running_.clear();
      push(Op::Kind::commit_flushing, event).block = event.block;
      return;
    case EventKind::end_commit:
      note_committed(event);
      note_change(event);
      push(Op::Kind::end_commit, event).block = event.block;
      return;
    case EventKind::discard_blocks:
      return on_discard(event);
    case EventKind::trim_all_free:
      return on_trim(event);
    case EventKind::lost_events:
      push(Op::Kind::lost, event);
      return;
    default:
      return;
  }
}

// Notes that a thread is about to remove or insert a range of a file. The kernel refuses ranges
// that do not consist of whole clusters (ext4_collapse_range, ext4_insert_range, 5.4 to 7.3).
void OpStream::on_shift(const Event& event) {
  const std::uint64_t cluster = std::uint64_t{1} << (geometry_.block_bits + geometry_.cluster_bits);
  shifting_.erase(event.pid);
  if (event.count == 0 || event.logical % cluster != 0 || event.count % cluster != 0) return;
  if (shifting_.size() >= kWindow) shifting_.clear();
  shifting_[event.pid] = event;
}

// Handles a discard of an inode's preallocations: if the thread called fallocate() to remove or
// insert a range of that file, the call may have succeeded. FileShifts finds out whether it did,
// because closing a file discards its preallocations, too.
void OpStream::end_shift(const Event& event) {
  const auto found = shifting_.find(event.pid);
  if (found == shifting_.end()) return;
  const Event call = found->second;
  shifting_.erase(found);
  if (call.ino != event.ino) return;
  Op& op =
      push(call.kind == EventKind::insert_range ? Op::Kind::insert_range : Op::Kind::collapse_range,
           event);
  op.logical = saturated(call.logical >> geometry_.block_bits);
  op.count = call.count >> geometry_.block_bits;
}

// Records a change of the allocator's state. A thread's own change during its allocation cannot
// interfere with that allocation.
void OpStream::note_change(const Event& event) {
  ++changes_;
  if (Op* own = open_op(event.pid)) ++own->changes_before;
}

// Records that an inode was allocated or freed.
void OpStream::note_inode(const Event& event) {
  ++inodes_;
  if (Op* own = open_op(event.pid)) ++own->inodes_before;
}

void OpStream::note_freed(const Event& event) {
  Freed freed{ordinal_, event.pid, 0, 0, 0};
  if (event.kind == EventKind::mballoc_free) {
    freed.group = event.result.group;
    freed.start = event.result.start;
    freed.end = freed.start + event.result.len;
    if (running_.size() < kWindow) running_.push_back(freed);
  } else {
    freed.group = geometry_.group_of(event.block);
    freed.start = geometry_.cluster_in_group(event.block);
    freed.end = freed.start + saturated(event.count);
  }
  add_freed(freed);
}

// Records that the blocks freed by the transaction can now be allocated.
void OpStream::note_committed(const Event& event) {
  for (Freed freed : committing_) {
    freed.ordinal = ordinal_;
    freed.pid = event.pid;
    freed.commit_began = commit_began_;
    add_freed(freed);
  }
  committing_.clear();
}

void OpStream::add_freed(const Freed& freed) {
  if (open_.empty()) return;
  if (freed_.size() >= kWindow) forget_old_frees();
  freed_.push_back(freed);
}

// Forgets the frees before the oldest pending allocation, and at least the older half of all frees.
void OpStream::forget_old_frees() {
  const std::uint64_t oldest = queue_.empty() ? ordinal_ : queue_.front().ordinal;
  const auto later = std::partition_point(freed_.begin(), freed_.end(),
                                          [&](const Freed& f) { return f.ordinal <= oldest; });
  const auto half = freed_.begin() + static_cast<std::ptrdiff_t>(freed_.size() / 2);
  freed_.erase(freed_.begin(), std::max(later, half));
}

// Whether another thread freed part of the result after the request.
bool OpStream::was_freed_since(const Op& op, const trace::RecordedExtent& result) const {
  const std::int64_t end = std::int64_t{result.start} + result.len;
  // The commit may have returned the blocks even before the request if it began before the request.
  const auto may_be_before = [&op](const Freed& freed) {
    return freed.commit_began != 0 && freed.commit_began < op.ordinal;
  };
  for (auto freed = freed_.rbegin(); freed != freed_.rend() && freed->ordinal > op.ordinal; ++freed)
    if (!may_be_before(*freed) && freed->pid != op.pid && freed->group == result.group &&
        freed->start < end && result.start < freed->end)
      return true;
  return false;
}

void OpStream::on_request(const Event& event) {
  if (open_.empty()) freed_.clear();
  if (Op* stale = open_op(event.pid)) {  // its answer was lost
    drop(*stale);
    open_.erase(event.pid);
  }
  Op& op = push(Op::Kind::allocate, event);
  op.open = true;
  op.changes_before = changes_;
  op.inodes_before = inodes_;
  op.request = ++requests_;
  op.asked_at = ordinal_;
  op.malformed = event.logical > kMax32 || event.count > kMax32;
  op.request_len = saturated(event.count);
  op.logical = saturated(event.logical);
  op.goal = event.goal;
  op.left_block = event.left_block;
  op.right_block = event.right_block;
  op.left_logical = event.left_logical;
  op.right_logical = event.right_logical;
  op.flags = event.flags;
  op.has_inputs = event.has_inputs;
  op.i_size = event.i_size;
  op.i_writecount = event.i_writecount;
  if (!open_.empty()) op.race = Race::allocator;
  open_.set(event.pid, queue_.end() - 1);
}

// Lets the thread's allocation take effect here. Returns null if it has no allocation.
Op* OpStream::move_here(std::uint32_t pid) {
  Op* op = open_op(pid);
  if (op == nullptr) return nullptr;
  op->moved = true;
  if (op == &queue_.back()) return op;
  const Op moved = *op;
  op->kind = Op::Kind::nothing;
  op->open = false;
  op = &queue_.push(moved);
  op->ordinal = ordinal_;
  open_.set(pid, queue_.end() - 1);
  return op;
}

void OpStream::on_closing(const Event& event) {
  const bool prealloc = event.kind == EventKind::mballoc_prealloc;
  Op* op = open_op(event.pid);
  if (op == nullptr || op->closing.seen) return note_stray();
  if (prealloc || (!op->marked && was_freed_since(*op, event.result))) op = move_here(event.pid);
  op->closed_after = saturated(ordinal_ - op->asked_at);
  if (changes_ != op->changes_before) op->race = Race::allocator;
  ++changes_;
  op->closing = {true,
                 prealloc,
                 event.criterion,
                 event.cpu,
                 static_cast<std::uint16_t>(event.flags),
                 event.orig,
                 event.goal_ex,
                 event.result,
                 event.orig_goal_len,
                 event.found,
                 event.groups,
                 event.tail,
                 event.broken};
}

// The search took its clusters just before, under the group's lock.
void OpStream::on_new_pa(const Event& event) {
  const Op* op = open_op(event.pid);
  if (op != nullptr && !op->marked) (void)move_here(event.pid);
}

// If a thread that is not allocating frees clusters while a commit is in progress, it is the
// commit's own thread, or no transaction holds these clusters back. The model tells the two cases
// apart.
void OpStream::on_mark_freed(const Event& event) {
  if (committing_.empty() || open_op(event.pid) != nullptr) return;
  Op& op = push(Op::Kind::returned, event);
  op.group = event.group;
  op.start = saturated(event.logical);
}

void OpStream::note_placed(const Event& event) {
  Op* op = open_op(event.pid);
  if (op != nullptr && event.logical <= UINT32_MAX)
    op->placed_at = static_cast<std::uint32_t>(event.logical);
}

void OpStream::on_answer(const Event& event) {
  Op* op = open_op(event.pid);
  if (op == nullptr) return note_stray();
  op->answered_ns = event.time_ns;
  op->block = event.block;
  op->len = event.block == 0 ? 0 : saturated(event.count);
  if (requests_ != op->request) op->race = Race::allocator;
  if (inodes_ != op->inodes_before) op->race = std::max(op->race, Race::inodes);
  op->open = false;
  open_.erase(event.pid);
}

Result<OpList> read_ops(trace::EventSource& events, const Geometry& geometry,
                        const TraceStart& start, const Schedule& schedule) {
  OpList out;
  // Contradictions are not reported here; every replay of the trace reports them.
  OpReader ops(events, geometry, start, schedule);
  for (;;) {
    E4R_TRY(const Op* op, ops.next());
    if (op == nullptr) return out;
    out.push_back(*op);
  }
}

}  // namespace e4r::replay
