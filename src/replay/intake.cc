// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/intake.h"

#include <array>
#include <utility>
#include <vector>

#include "trace/summary.h"
#include "util/units.h"

namespace e4r::replay {
namespace {

// The numbers of inodes have 32 bits on disk (struct ext4_dir_entry_2).
constexpr std::uint64_t kMaxInode = UINT32_MAX;

constexpr std::array kTable = {
    ContradictionInfo{"outside", &Contradictions::outside,
                      "ranges that the image or their group does not have"},
    ContradictionInfo{"inodes", &Contradictions::inodes, "operations on inode 0"},
    ContradictionInfo{"answers", &Contradictions::answers,
                      "answers that are not part of their result"},
    ContradictionInfo{"in_use", &Contradictions::in_use, "clusters handed out that were in use"},
    ContradictionInfo{"not_in_use", &Contradictions::not_in_use, "frees of clusters not in use"},
    ContradictionInfo{"transactions", &Contradictions::transactions, "commits out of turn"},
    ContradictionInfo{"strays", &Contradictions::strays,
                      "closing events or answers without a request"},
};

}  // namespace

void Contradictions::note(std::uint64_t Contradictions::*what, std::uint64_t event,
                          std::uint64_t count) {
  if (count == 0) return;
  this->*what += count;
  if (first_event == 0 || event < first_event) first_event = event;
}

void Contradictions::add(const Contradictions& others) {
  for (const ContradictionInfo& info : kTable)
    note(info.member, others.first_event, others.*(info.member));
}

std::span<const ContradictionInfo> contradiction_table() {
  return kTable;
}

std::string describe(const Contradictions& contradictions) {
  std::string out;
  for (const ContradictionInfo& info : kTable) {
    const std::uint64_t count = contradictions.*(info.member);
    if (count == 0) continue;
    if (!out.empty()) out += ", ";
    out += fmt::format("{}: {}", info.meaning, format_count(count));
  }
  return fmt::format("{} (the first at event {})", out, format_count(contradictions.first_event));
}

bool Intake::refuse(std::uint64_t Contradictions::*what, const Op& op) {
  found_.note(what, op.ordinal);
  return false;
}

bool Intake::admit(Op& op) {
  const auto inside = [&](bool so) { return so || refuse(&Contradictions::outside, op); };
  const auto has_inode = [&] { return op.ino != 0 || refuse(&Contradictions::inodes, op); };
  switch (op.kind) {
    case Op::Kind::allocate:
      return !op.closing.seen || (has_inode() && allocation(op));
    case Op::Kind::free:
    case Op::Kind::discard_blocks:
      return inside(geometry_.holds(op.group, static_cast<std::int32_t>(op.start), op.count));
    case Op::Kind::trim_group:
      return inside(op.count > 0 &&
                    geometry_.holds(op.group, static_cast<std::int32_t>(op.start), op.count));
    case Op::Kind::load_group:
    case Op::Kind::reload_group:
    case Op::Kind::reclaim_group:
      return inside(op.group < geometry_.groups);
    case Op::Kind::prefetched:
      return inside(op.group < geometry_.groups && op.count <= geometry_.groups);
    case Op::Kind::discard_inode:
    case Op::Kind::allocate_inode:
    case Op::Kind::free_inode:
      return has_inode();
    case Op::Kind::collapse_range:
    case Op::Kind::insert_range:
      return has_inode() && inside(op.ino <= kMaxInode && op.count <= kMaxFileBlocks - op.logical);
    case Op::Kind::commit_flushing:
      return flushing(op);
    case Op::Kind::end_commit:
      return end_commit(op);
    case Op::Kind::returned:
      return inside(op.group < geometry_.groups);
    case Op::Kind::commit_until:
    case Op::Kind::unlink_until:
    case Op::Kind::hide:
    case Op::Kind::reveal:
    case Op::Kind::discarded:
    case Op::Kind::lost:
    case Op::Kind::nothing:
      break;
  }
  return true;
}

bool Intake::allocation(Op& op) {
  const trace::RecordedExtent& result = op.closing.result;
  const std::uint32_t asked = op.closing.orig.len;
  // The kernel found no space, so there is no result.
  const bool failed = !op.closing.prealloc && result.len == 0;
  const bool fits = !op.malformed && op.ino <= kMaxInode && asked > 0 &&
                    asked <= geometry_.clusters_per_group &&
                    op.logical + geometry_.to_blocks(asked) <= kMaxFileBlocks &&
                    (op.left_block == 0 || geometry_.holds_block(op.left_block)) &&
                    (op.right_block == 0 || geometry_.holds_block(op.right_block)) &&
                    (failed || geometry_.holds(result.group, result.start, result.len));
  if (!fits) return refuse(&Contradictions::outside, op);
  if (op.block != 0) answer(op);
  return true;
}

// Checks that the answer consists of whole clusters of the result, and that it has no more than
// were requested.
void Intake::answer(Op& op) {
  const trace::RecordedExtent& result = op.closing.result;
  const std::uint64_t first =
      geometry_.block_of(result.group, static_cast<std::uint32_t>(result.start));
  const std::uint64_t offset = op.block - first;
  const std::uint64_t cluster = offset >> geometry_.cluster_bits;
  const bool fits = result.len > 0 && op.block >= first && geometry_.to_blocks(cluster) == offset &&
                    op.len > 0 && op.len <= op.closing.orig.len && cluster < result.len &&
                    op.len <= result.len - cluster;
  if (fits) return;
  found_.note(&Contradictions::answers, op.ordinal);
  op.block = 0;
  op.len = 0;
}

// Counts a contradiction if a commit is already in progress, since jbd2 commits transactions one at
// a time.
bool Intake::flushing(const Op& op) {
  if (committing_ || (seen_ && op.block == transaction_))
    found_.note(&Contradictions::transactions, op.ordinal);
  committing_ = seen_ = true;
  transaction_ = op.block;
  return true;
}

bool Intake::end_commit(const Op& op) {
  // The trace may begin during a commit.
  const bool in_turn = committing_ ? op.block == transaction_ : !seen_;
  seen_ = true;
  committing_ = false;
  transaction_ = op.block;
  return in_turn || refuse(&Contradictions::transactions, op);
}

using trace::Event;
using trace::EventKind;
using trace::RecordedExtent;

bool Fit::no_group(std::uint32_t number) {
  why_ = fmt::format("is of group {}, and the image has {}", format_count(number),
                     format_count(geometry_.groups));
  return false;
}

bool Fit::no_cluster(const RecordedExtent& extent, std::uint32_t clusters) {
  why_ = fmt::format("is of cluster {} of group {}, which has {} in the image",
                     format_count(static_cast<std::uint64_t>(extent.start)),
                     format_count(extent.group), format_count(clusters));
  return false;
}

bool Fit::no_block(std::uint64_t number) {
  why_ = fmt::format("is of block {}, and the image has {}", format_count(number),
                     format_count(geometry_.blocks_count));
  return false;
}

bool Fit::no_inode(std::uint64_t number) {
  why_ = fmt::format("is of inode {}, and the image has {}", format_count(number),
                     format_count(inodes_));
  return false;
}

// Checks where an extent starts. Intake checks that the extent ends in its group, and refuses
// impossible numbers.
bool Fit::place(const RecordedExtent& extent) {
  if (!group(extent.group)) return false;
  const std::uint32_t clusters = geometry_.clusters_in(extent.group);
  return extent.start < 0 || static_cast<std::uint32_t>(extent.start) < clusters ||
         no_cluster(extent, clusters);
}

RecordedExtent& Fit::closed_by(std::uint32_t pid) {
  if (last_ == nullptr || last_pid_ != pid) last_ = &closed_[pid];
  last_pid_ = pid;
  return *last_;
}

// Checks an allocation's first block against the result in its closing event.
void Fit::answered(const Event& e) {
  RecordedExtent& result = closed_by(e.pid);
  if (e.block == 0 || result.len == 0 || result.start < 0) return;
  const std::uint64_t first =
      geometry_.block_of(result.group, static_cast<std::uint32_t>(result.start));
  ++placed_;
  if (e.block < first || e.block - first >= geometry_.to_blocks(result.len)) ++misplaced_;
  result.len = 0;
}

bool Fit::fits(const Event& e) {
  switch (e.kind) {
    case EventKind::request_blocks:
      return inode(e.ino);
    case EventKind::allocate_blocks:
      if (!block(e.block)) return false;
      answered(e);
      return true;
    case EventKind::mballoc_alloc:
    case EventKind::mballoc_prealloc:
      if (!group(e.orig.group) || !(e.result.len == 0 || place(e.result))) return false;
      closed_by(e.pid) = e.result;
      return true;
    case EventKind::mballoc_free:
      return place(e.result);
    case EventKind::new_inode_pa:
    case EventKind::new_group_pa:
    case EventKind::release_inode_pa:
    case EventKind::release_group_pa:
    case EventKind::free_blocks:
    case EventKind::discard_blocks:
      return block(e.block);
    case EventKind::trim_all_free:
    case EventKind::mark_used:
    case EventKind::mark_freed:
    case EventKind::buddy_bitmap_load:
    case EventKind::prefetch_bitmaps:
      return group(e.group);
    case EventKind::allocate_inode:
    case EventKind::free_inode:
    case EventKind::collapse_range:
    case EventKind::insert_range:
      return inode(e.ino);
    default:
      return true;
  }
}

void Fit::see(std::span<const Event> events) {
  if (!why_.empty()) return;
  for (const Event& e : events) {
    ++number_;
    if (!fits(e)) return;
  }
}

void Fit::restart() {
  *this = Fit(geometry_);
}

Status Fit::verdict() const {
  if (!why_.empty()) return error("event {} {}", format_count(number_), why_);
  // A few answers may differ because events were lost or the trace is wrong.
  constexpr std::uint64_t kOneIn = 10;
  if (misplaced_ <= placed_ / kOneIn) return {};
  return error(
      "{} of {} results lie at blocks that do not fit the image's block, cluster and group sizes",
      format_count(misplaced_), format_count(placed_));
}

Fit& DeviceFit::of(std::uint32_t dev) {
  const auto found = devices_.find(dev);
  if (found != devices_.end()) return found->second;
  if (devices_.size() >= trace::kMaxDevices) return devices_.begin()->second;
  return devices_.emplace(dev, fresh_).first->second;
}

// Splits the events into runs of one device and passes them on.
void DeviceFit::see(std::span<const Event> events) {
  while (!events.empty()) {
    const Event& first = events.front();
    std::size_t length = 1;
    if (first.kind == EventKind::lost_events) {
      fresh_.see(events.first(1));
      for (auto& [dev, fit] : devices_) fit.see(events.first(1));
    } else {
      while (length < events.size() && events[length].dev == first.dev &&
             events[length].kind != EventKind::lost_events)
        ++length;
      of(first.dev).see(events.first(length));
    }
    events = events.subspan(length);
  }
}

void DeviceFit::restart() {
  fresh_.restart();
  devices_.clear();
}

std::optional<trace::DeviceChoice> DeviceFit::prefers(const trace::TraceSummary& summary) const {
  std::vector<trace::DeviceCount> fitting;
  for (const trace::DeviceCount& d : summary.devices)
    if (const auto found = devices_.find(d.dev);
        d.requests > 0 && found != devices_.end() && found->second.verdict().ok())
      fitting.push_back(d);
  const trace::DeviceCount* best = busiest(fitting);
  if (best == nullptr) return std::nullopt;
  return trace::DeviceChoice{best->dev, fitting.size() == 1
                                            ? "the one that fits the image"
                                            : "the busiest one that fits the image"};
}

Status DeviceFit::verdict() const {
  return devices_.empty() ? Status() : devices_.begin()->second.verdict();
}

Status check_fit(const Geometry& geometry, trace::EventSource& events) {
  Fit fit(geometry);
  for (;;) {
    E4R_TRY(const auto batch, events.next());
    if (batch.empty()) return fit.verdict();
    fit.see(batch);
  }
}

// Returns the next operation that keeps its place in the stream, or null at the end.
Result<const Op*> OpReader::next_in_place() {
  for (;;) {
    E4R_TRY(Op * op, stream_.next());
    if (op == nullptr) break;
    if (!intake_.admit(*op)) continue;
    const Schedule::Place* place = op->kind == Op::Kind::allocate ? schedule_.find(op->request)
                                   : op->kind == Op::Kind::free   ? schedule_.find_free(op->ordinal)
                                                                  : nullptr;
    if (place == nullptr) return op;
    Op& held = held_.emplace(*place, *op).first->second;
    held.scheduled = true;
  }
  ended_ = true;
  if (stream_.strays() > contradictions_.strays)
    contradictions_.note(&Contradictions::strays, stream_.first_stray(),
                         stream_.strays() - contradictions_.strays);
  return nullptr;
}

// Returns the held operation that takes effect before next_, or null.
const Op* OpReader::release() {
  if (held_.empty()) return nullptr;
  const auto first = held_.begin();
  if (next_ != nullptr && next_->ordinal <= first->first.after) return nullptr;
  now_ = first->second;
  held_.erase(first);
  return &now_;
}

Result<const Op*> OpReader::next() {
  if (!behind_.empty()) {
    now_ = behind_.front();
    behind_.pop_front();
    return &now_;
  }
  if (next_ == nullptr && !ended_) {
    E4R_TRY(next_, next_in_place());
  }
  const Op* op = release();
  if (op == nullptr) op = std::exchange(next_, nullptr);
  if (op == nullptr) return nullptr;
  bool sees_earlier = false;
  if (op->kind == Op::Kind::allocate) {
    if (const std::uint64_t freed = schedule_.commit_before(op->request); freed != 0)
      behind_.emplace_back(op_before(*op, Op::Kind::commit_until)).count = freed;
    if (const auto by = schedule_.discarded_before(op->request))
      behind_.emplace_back(op_before(*op, Op::Kind::discarded)).request = *by;
    for (const Schedule::Seen& seen : schedule_.seen(op->request)) {
      behind_.push_back(op_before(*op, seen));
      sees_earlier = true;
    }
  } else if (const auto unlink = unlink_before(*op, schedule_.progress())) {
    behind_.push_back(*unlink);
  }
  if (behind_.empty()) return op;
  behind_.push_back(*op);
  behind_.back().sees_earlier = sees_earlier;
  return next();
}

}  // namespace e4r::replay
