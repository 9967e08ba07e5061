// SPDX-License-Identifier: GPL-2.0-or-later
#include <e4replay/event.h>

#include "app/inputs.h"
#include "ext4/criterion.h"
#include "library/data.h"

namespace e4replay {
namespace {

namespace mb = e4r::mb;

RecordedExtent public_extent(const e4r::trace::RecordedExtent& extent) {
  return {extent.group, extent.start, extent.len, extent.logical};
}

void fill(const e4r::trace::Event& from, Event& to) {
  to.name = e4r::trace::event_name(from.kind);
  to.time_ns = from.time_ns;
  to.ino = from.ino;
  to.block = from.block;
  to.count = from.count;
  to.logical = from.logical;
  to.goal = from.goal;
  to.left_block = from.left_block;
  to.right_block = from.right_block;
  to.parent = from.parent;
  to.i_size = from.i_size;
  to.orig = public_extent(from.orig);
  to.goal_extent = public_extent(from.goal_ex);
  to.result = public_extent(from.result);
  to.left_logical = from.left_logical;
  to.right_logical = from.right_logical;
  to.device_major = e4r::trace::dev_major(from.dev);
  to.device_minor = e4r::trace::dev_minor(from.dev);
  to.pid = from.pid;
  to.cpu = from.cpu;
  to.flags = from.flags;
  to.group = from.group;
  to.needed = from.needed;
  to.found = from.found;
  to.groups = from.groups;
  to.tail = from.tail;
  to.broken = from.broken;
  to.orig_goal_len = from.orig_goal_len;
  to.i_writecount = from.i_writecount;
  to.mode = from.mode;
  to.criterion = from.criterion;
  to.has_inputs = from.has_inputs;
}

Result<EventReader> open_reader(const std::string& path, const TraceOptions& options,
                                bool any_ratio) {
  E4R_TRY(e4r::trace::ReadOptions open, read_options(options));
  open.any_ratio = any_ratio;
  E4R_TRY(auto trace, e4r::app::open_events(path, open));
  return Access::reader(std::move(trace));
}

}  // namespace

Result<e4r::trace::ReadOptions> read_options(const TraceOptions& options) {
  e4r::trace::ReadOptions out;
  out.lenient = options.lenient;
  out.buffer = options.buffer;
  if (!options.device.empty()) {
    E4R_TRY(out.device, e4r::trace::parse_device(options.device));
  }
  if (!options.generation.empty()) {
    E4R_TRY(out.generation, e4r::trace::parse_generation(options.generation));
  }
  return out;
}

std::string_view criterion_name(Criterion criterion) {
  if (static_cast<std::size_t>(criterion) >= mb::kCriteria) criterion = Criterion::unknown;
  return mb::criterion_name(criterion);
}

EventReader::EventReader(std::unique_ptr<Data> data) : data_(std::move(data)) {}
EventReader::EventReader(EventReader&&) noexcept = default;
EventReader& EventReader::operator=(EventReader&&) noexcept = default;
EventReader::~EventReader() = default;

Result<EventReader> EventReader::open(const std::string& path, const TraceOptions& options) {
  return open_reader(path, options, false);
}

Result<EventReader> EventReader::open_any_ratio(const std::string& path,
                                                const TraceOptions& options) {
  return open_reader(path, options, true);
}

Result<bool> EventReader::next(Event& event) {
  if (data_->next == data_->batch.size()) {
    E4R_TRY(data_->batch, data_->source->next());
    data_->next = 0;
    if (data_->batch.empty()) return false;
  }
  fill(data_->batch[data_->next++], event);
  return true;
}

}  // namespace e4replay
