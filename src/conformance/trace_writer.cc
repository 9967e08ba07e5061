// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/trace_writer.h"

#include <algorithm>

namespace e4r::conformance {
namespace {

using trace::Event;
using trace::EventKind;

constexpr Thread kJournal = {2, 0};
constexpr std::uint32_t kWide = 0xffff;  // fields of 16 bits

trace::RecordedExtent extent_of(const Extent& e) {
  return {e.group, static_cast<std::int32_t>(e.start), e.len, e.logical};
}

}  // namespace

Result<std::span<const Event>> MemorySource::next() {
  const auto batch = left_.first(std::min(batch_, left_.size()));
  left_ = left_.subspan(batch.size());
  return batch;
}

Event& TraceWriter::add(EventKind kind, const Thread& thread, std::uint64_t ino) {
  Event& event = events_.emplace_back();
  event.kind = kind;
  event.pid = thread.pid;
  event.cpu = thread.cpu;
  event.ino = ino;
  event.time_ns = events_.size();
  return event;
}

TraceWriter::Open TraceWriter::open(const Thread& thread, const allocator::Request& request,
                                    std::uint32_t asked) {
  Event& event = add(EventKind::request_blocks, thread, request.ino);
  event.flags = request.flags;
  event.count = asked;
  event.logical = request.logical;
  event.goal = request.goal;
  event.lleft = request.left_logical;
  event.lright = request.right_logical;
  event.pleft = request.left_block;
  event.pright = request.right_block;
  if (inputs_) {
    event.has_inputs = true;
    event.i_size = request.size_hint;
    event.i_writecount = request.open_for_write ? 1 : 0;
  }
  return {thread, request, events_.size() - 1, false};
}

void TraceWriter::decided(Open& open, const allocator::Decision& decision) {
  if (decision.prealloc) {
    close(open, decision);
    open.closed = true;
  } else if (decision.result.len > decision.orig.len) {
    const bool group = (decision.flags & mb::hint_group_alloc) != 0;
    Event& event = add(group ? EventKind::new_group_pa : EventKind::new_inode_pa, open.thread,
                       open.request.ino);
    event.count = decision.result.len;
    event.logical = decision.result.logical;
  } else {
    // Only the request marks the moment of the decision, so it is written here.
    const Event request = events_[open.at];
    events_.erase(events_.begin() + static_cast<std::ptrdiff_t>(open.at));
    events_.push_back(request);
  }
}

void TraceWriter::finish(const Open& open, const allocator::Decision& decision) {
  if (!open.closed) close(open, decision);
  answer(open, decision.success ? decision.block : 0, decision.success ? decision.len : 0);
}

void TraceWriter::refuse(const Open& open) {
  answer(open, 0, 0);
}

void TraceWriter::close(const Open& open, const allocator::Decision& decision) {
  Event& event = add(decision.prealloc ? EventKind::mballoc_prealloc : EventKind::mballoc_alloc,
                     open.thread, open.request.ino);
  event.orig = extent_of(decision.orig);
  event.result = extent_of(decision.result);
  if (decision.prealloc) return;
  event.goal_ex = extent_of(decision.goal);
  event.found = decision.found & kWide;
  event.groups = decision.groups_scanned & kWide;
  event.flags = decision.flags & kWide;
  event.criterion = decision.criterion;
  event.tail = decision.tail;
  event.broken = decision.broken;
  event.orig_goal_len = decision.goal_len;
}

void TraceWriter::answer(const Open& open, std::uint64_t block, std::uint32_t len) {
  Event& event = add(EventKind::allocate_blocks, open.thread, open.request.ino);
  event.block = block;
  event.count = len;
  event.logical = open.request.logical;
  event.flags = open.request.flags;
}

void TraceWriter::freed(const Thread& thread, std::uint64_t ino, std::uint32_t group,
                        std::uint32_t start, std::uint32_t len) {
  add(EventKind::mballoc_free, thread, ino).result = {group, static_cast<std::int32_t>(start), len,
                                                      0};
}

void TraceWriter::discarded(const Thread& thread, std::uint64_t ino) {
  add(EventKind::discard_preallocations, thread, ino);
}

void TraceWriter::loaded(const Thread& thread, std::uint32_t group) {
  add(EventKind::buddy_bitmap_load, thread, 0).group = group;
}

void TraceWriter::inode(const Thread& thread, EventKind kind, std::uint64_t ino) {
  add(kind, thread, ino);
}

void TraceWriter::commit(EventKind kind, std::uint64_t transaction) {
  add(kind, kJournal, 0).block = transaction;
}

}  // namespace e4r::conformance
