// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/fit.h"

#include <vector>

#include "trace/summary.h"
#include "util/units.h"

namespace e4r::replay {

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

// Checks where an extent begins. Intake checks that it ends in its group, and refuses numbers that
// no file system has.
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

// Checks an allocation's first block against the place that its closing event gives.
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
    case EventKind::buddy_bitmap_load:
    case EventKind::prefetch_bitmaps:
      return group(e.group);
    case EventKind::allocate_inode:
    case EventKind::free_inode:
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
  // A few answers may lie elsewhere: events were lost, or the trace lies.
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

// Passes on the events in runs of one device.
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

}  // namespace e4r::replay
