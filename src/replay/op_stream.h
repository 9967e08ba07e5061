// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ext4/geometry.h"
#include "replay/late_discards.h"
#include "trace/event.h"
#include "util/status.h"

namespace e4r::replay {

// A queue whose elements are numbered from 0 in order of arrival. It is a ring buffer, so an
// element is found by its number without a search. A reference is valid until the next push().
template <class T>
class NumberedQueue {
 public:
  [[nodiscard]] bool empty() const { return first_ == end_; }
  [[nodiscard]] std::size_t size() const { return end_ - first_; }
  // The number that the next element will get.
  [[nodiscard]] std::uint64_t end() const { return end_; }

  // Returns the element with that number, the first or the last element. The element must exist.
  [[nodiscard]] T& operator[](std::uint64_t number) { return ring_[number & (ring_.size() - 1)]; }
  [[nodiscard]] T& front() { return (*this)[first_]; }
  [[nodiscard]] T& back() { return (*this)[end_ - 1]; }

  // Adds an element at the end. `args` must not refer to elements of the queue.
  template <class... Args>
  T& push(Args&&... args) {
    if (size() == ring_.size()) grow();
    T& place = (*this)[end_++];
    std::destroy_at(&place);
    return *std::construct_at(&place, std::forward<Args>(args)...);
  }
  void pop() { ++first_; }

 private:
  void grow() {
    std::vector<T> larger(2 * ring_.size());
    for (std::uint64_t number = first_; number != end_; ++number)
      larger[number & (larger.size() - 1)] = std::move((*this)[number]);
    ring_ = std::move(larger);
  }

  static constexpr std::size_t kAtFirst = 16;  // sizes are powers of two
  std::vector<T> ring_ = std::vector<T>(kAtFirst);
  std::uint64_t first_ = 0, end_ = 0;
};

// The pending allocations, as numbers of elements in a NumberedQueue. Each thread has at most one.
// A single thread, the usual case, needs no lookup.
class UnderWay {
 public:
  // Returns null if that thread has no pending allocation.
  [[nodiscard]] const std::uint64_t* find(std::uint32_t pid) const {
    if (one_ && one_->first == pid) return &one_->second;
    if (others_.empty()) return nullptr;
    const auto found = others_.find(pid);
    return found == others_.end() ? nullptr : &found->second;
  }
  void set(std::uint32_t pid, std::uint64_t number) {
    if (one_ ? one_->first == pid : others_.empty())
      one_ = {pid, number};
    else
      others_[pid] = number;
  }
  void erase(std::uint32_t pid) {
    if (one_ && one_->first == pid)
      one_.reset();
    else
      others_.erase(pid);
  }
  void clear() {
    one_.reset();
    others_.clear();
  }
  [[nodiscard]] std::size_t size() const { return (one_ ? 1 : 0) + others_.size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  // Calls `each` with every number, in unspecified order.
  template <class Each>
  void for_each(const Each& each) const {
    if (one_) each(one_->second);
    for (const auto& [pid, number] : others_) each(number);
  }

 private:
  std::optional<std::pair<std::uint32_t, std::uint64_t>> one_;
  boost::unordered_flat_map<std::uint32_t, std::uint64_t> others_;  // all but one_
};

// The outcome of an allocation according to its ext4_mballoc_alloc or ext4_mballoc_prealloc event.
struct Closing {
  bool seen = false;
  bool prealloc = false;
  mb::Criterion criterion = mb::Criterion::unknown;
  std::uint16_t cpu = 0;
  std::uint16_t flags = 0;  // the low bits
  trace::RecordedExtent orig, goal, result;
  std::uint32_t orig_goal_len = 0;  // clusters, before trimming; 0: not recorded
  std::uint32_t found = 0;          // modulo 65536, as recorded
  std::uint32_t groups = 0;         // likewise
  std::uint32_t tail = 0;
  std::uint32_t broken = 0;
};

// Interference by another thread during a decision. It may have changed the decision.
enum class Race : std::uint8_t {
  none,
  inodes,     // it allocated or freed an inode, which locks groups and may load a group
  allocator,  // it requested blocks, or changed the state
};
// A phrase that describes the interference; empty for `none`.
[[nodiscard]] std::string_view race_text(Race race);

// One step of a replay: a change of the allocator's state, at the point of the trace where it takes
// effect.
struct Op {
  enum class Kind : std::uint8_t {
    nothing,
    allocate,       // request .. closing, block, len
    free,           // group, start, count: clusters
    discard_inode,  // ino, count (0: all)
    load_group,     // group; loaded by a thread that was not allocating
    reload_group,   // group; its buddy was loaded before and had been reclaimed
    reclaim_group,  // group; like reload_group, but the search of the next allocation loads it
    prefetched,     // group, count (the group after the last): bitmaps read by the lazy-init thread
    // ino, logical, count: file blocks that fallocate() removed, or inserted there
    collapse_range,
    insert_range,
    allocate_inode,   // ino, mode
    free_inode,       // ino
    commit_flushing,  // block (transaction number): later frees belong to the next transaction
    end_commit,       // block (transaction number): its frees become usable
    // extents that the committing transaction freed up to event `count` become usable (Schedule)
    commit_until,
    // group, start, count: clusters that the committing transaction returns now (recorded by a
    // probe); OrderSearch turns it into a commit_until for later allocations
    returned,
    // group, start, count: clusters that look in use, or free, to the next allocation (Schedule)
    hide,
    reveal,
    unlink_until,  // it has probably unlinked extents freed up to event `count` (Schedule)
    // group, start, count: clusters that are discarded; request: the number of the trim_group that
    // sends them, 0 for the worker
    discard_blocks,
    // group, start, count: the range in which FITRIM looks for free clusters; request: the
    // operation's number among trim_group operations, from 1
    trim_group,
    // request: as in discard_blocks. That sender has given back the range of its last discard
    discarded,
    lost,  // events are missing here
  };
  Kind kind = Kind::nothing;
  std::uint16_t cpu = 0;
  std::uint16_t mode = 0;  // as in st_mode
  bool has_inputs = false;
  bool open = false;  // allocate: not yet answered
  // allocate: another thread's allocation overlapped, another thread changed the state between
  // request and closing event, or another thread changed inodes between request and answer
  Race race = Race::none;
  bool file_data = false;  // free: data blocks of a regular file, as ext4_free_blocks says
  bool moved = false;      // allocate: an event after the request showed where it takes effect
  bool malformed = false;  // allocate: a field of the request does not fit the kernel's type
  std::uint32_t pid = 0;
  std::uint64_t time_ns = 0;
  std::uint64_t ordinal = 0;  // number of the event in the trace, from 1
  std::uint64_t ino = 0;
  std::uint32_t group = 0;
  std::uint32_t start = 0;
  std::uint64_t count = 0;

  // allocate
  std::uint64_t changes_before = 0;  // state changes in the trace before the request
  std::uint64_t inodes_before = 0;   // inode changes in the trace before the request
  std::uint64_t request = 0;         // its number among requests, from 1
  std::uint64_t asked_at = 0;        // number of the request's event
  std::uint32_t closed_after = 0;    // the closing event's number minus asked_at
  bool scheduled = false;            // a Schedule moved it
  bool sees_earlier = false;         // its search saw earlier states of groups (Schedule::seen)
  bool marked = false;               // a probe showed when it took its clusters
  std::uint32_t request_len = 0;     // clusters
  std::uint32_t logical = 0;
  std::uint32_t left_logical = 0, right_logical = 0;
  std::uint64_t goal = 0, left_block = 0, right_block = 0;
  std::uint32_t flags = 0;
  std::int32_t i_writecount = 0;
  std::uint64_t i_size = 0;
  std::uint64_t block = 0;        // first block handed out; 0 if refused
  std::uint64_t answered_ns = 0;  // time of the answer
  std::uint32_t len = 0;          // clusters handed out
  // The first file block of the inode preallocation that the search's result became; nullopt if it
  // did not become one.
  std::optional<std::uint32_t> placed_at;
  Closing closing;
};
static_assert(sizeof(Op) <= 256);

// The event number of an allocation's closing event.
[[nodiscard]] inline std::uint64_t closed_at(const Op& op) {
  return op.asked_at + op.closed_after;
}

// An operation that a Schedule inserts just before `op`.
[[nodiscard]] inline Op op_before(const Op& op, Op::Kind kind) {
  Op out;
  out.kind = kind;
  out.ordinal = op.ordinal;
  return out;
}

// Whether an allocation is for file data.
[[nodiscard]] inline bool is_data(const Op& op) {
  return (op.flags & mb::hint_data) != 0;
}

struct Checkpoint;

// The state before the first event of a trace.
struct TraceStart {
  TraceStart(bool all_loaded = false, const Checkpoint* begins_at = nullptr)
      : loaded(all_loaded), from(begins_at) {}
  bool loaded;             // every group's buddy was loaded
  const Checkpoint* from;  // null if unknown
};

// Turns events into operations, in the order in which they took effect. If the recorder's probes
// show when a search took its clusters (mark_used), it takes effect there. Otherwise an allocation
// that made a preallocation takes effect at its ext4_mb_new_*_pa event. One served from a
// preallocation takes effect at its closing event, and any other at its request. If an allocation
// got clusters that another thread freed after the request, its search came later, so it takes
// effect at its closing event. The stream looks ahead only while an allocation is unanswered, and
// at most kWindow operations; after that, the answer counts as lost.
class OpStream {
 public:
  static constexpr std::size_t kWindow = 32768;

  // `geometry` must outlive the object.
  OpStream(trace::EventSource& source, const Geometry& geometry, const TraceStart& start = {});

  // The next operation, or null at the end. Valid until the next call.
  [[nodiscard]] Result<Op*> next();

  // Whether an allocation has no answer yet. next() then returns no later operation.
  [[nodiscard]] bool holds_back() const { return !open_.empty(); }
  // The number of allocations that the trace does not answer. next() skips them.
  [[nodiscard]] std::uint64_t unanswered() const { return unanswered_; }
  // The number of closing events and answers without a request, and the number of the first such
  // event.
  [[nodiscard]] std::uint64_t strays() const { return strays_; }
  [[nodiscard]] std::uint64_t first_stray() const { return first_stray_; }

 private:
  // Freed clusters. They can be allocated once the transaction is on disk. Without a journal, and
  // with data=writeback if they held data of files, they can be allocated at once.
  struct Freed {
    std::uint64_t ordinal = 0;
    std::uint32_t pid = 0;
    std::uint32_t group = 0;
    std::int64_t start = 0, end = 0;
    std::uint64_t commit_began = 0;  // event at which the commit began that returned them, or 0
  };
  // A thread whose last event belongs to a FITRIM or to the discard worker.
  struct Discarding {
    std::uint64_t trim = 0;                // 0: the worker
    std::uint32_t group = 0;               // the group that FITRIM has reached
    std::optional<std::uint64_t> sent_ns;  // when it sent the range that is still in use
    std::uint64_t longest_ns = 0;          // longest time from one range to the next
  };

  void accept(const trace::Event& event);
  void push_discard(const trace::Event& event);
  void on_free(const trace::Event& event);
  void on_load(const trace::Event& event);
  void note_change(const trace::Event& event);
  void note_freed(const trace::Event& event);
  void note_committed(const trace::Event& event);
  void on_shift(const trace::Event& event);
  void end_shift(const trace::Event& event);
  void on_trim(const trace::Event& event);
  void on_discard(const trace::Event& event);
  [[nodiscard]] static std::uint64_t late_ns(const Discarding& thread);
  Discarding& discarding_thread(const trace::Event& event);
  void end_discards(const trace::Event& event);
  void end_discard(Discarding& thread, const trace::Event& event);
  void add_freed(const Freed& freed);
  void forget_old_frees();
  [[nodiscard]] bool was_freed_since(const Op& op, const trace::RecordedExtent& result) const;
  void on_request(const trace::Event& event);
  void on_closing(const trace::Event& event);
  void on_new_pa(const trace::Event& event);
  void on_mark_freed(const trace::Event& event);
  void note_placed(const trace::Event& event);
  void on_answer(const trace::Event& event);
  Op& push(Op::Kind kind, const trace::Event& event);
  Op* open_op(std::uint32_t pid);
  void note_inode(const trace::Event& event);
  Op* move_here(std::uint32_t pid);
  void drop(Op& op);
  void drop_open();
  void note_stray();

  trace::EventSource& source_;
  const Geometry& geometry_;
  NumberedQueue<Op> queue_;
  // Whether next() has returned the first operation of the queue. If so, the following call may
  // drop it.
  bool handed_out_ = false;
  std::uint64_t ordinal_ = 0;
  std::uint64_t changes_ = 0;  // events so far that changed the allocator's state
  std::uint64_t inodes_ = 0;   // events so far that allocated or freed an inode
  std::uint64_t requests_ = 0;
  // Threads whose last ext4_free_blocks freed a regular file's data.
  boost::unordered_flat_set<std::uint32_t> freeing_data_;
  // Each thread's last call that removes or inserts a range of a file. Such a call discards the
  // file's preallocations after it has checked its arguments.
  boost::unordered_flat_map<std::uint32_t, trace::Event> shifting_;
  UnderWay open_;             // numbers of elements of queue_
  std::vector<Freed> freed_;  // since the first request in `open_`
  LateDiscards discards_;
  std::unordered_map<std::uint32_t, Discarding> discarding_;
  std::uint32_t worker_ = 0;            // the thread that last acted as the worker
  std::uint64_t late_ns_ = UINT64_MAX;  // the earliest late_ns() of all threads
  std::uint64_t trims_ = 0;
  // Clusters freed by the running and by the committing transaction; at most kWindow of each.
  std::vector<Freed> running_, committing_;
  std::uint64_t commit_began_ = 0;  // number of the event at which the commit began
  std::vector<bool> loaded_;        // groups whose buddy is known to be loaded
  bool ended_ = false;
  std::uint64_t unanswered_ = 0;
  std::uint64_t strays_ = 0;
  std::uint64_t first_stray_ = 0;
};

// The operations of a trace that Intake admits, in the order in which they took effect. Used by
// replays that process them in another order.
using OpList = std::vector<Op>;

class Schedule;
// The arguments are the same as for OpReader.
[[nodiscard]] Result<OpList> read_ops(trace::EventSource& events, const Geometry& geometry,
                                      const TraceStart& start, const Schedule& schedule);

}  // namespace e4r::replay
