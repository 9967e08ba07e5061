// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/model_fs.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace e4r::conformance {
namespace {

namespace bitmap = state::bitmap;

state::MountedGeometry geometry_of(const ModelShape& shape) {
  state::MountedGeometry g;
  g.groups = shape.groups;
  g.block_bits = shape.block_bits;
  g.cluster_bits = shape.cluster_bits;
  g.first_data_block = shape.block_bits == 10 && shape.cluster_bits == 0 ? 1 : 0;
  g.clusters_per_group = shape.clusters_per_group;
  g.blocks_per_group = shape.clusters_per_group << shape.cluster_bits;
  g.blocks_count = static_cast<std::uint64_t>(shape.groups) * g.blocks_per_group +
                   g.first_data_block - (shape.missing << shape.cluster_bits);
  g.inodes_per_group = 64;
  g.log_groups_per_flex = shape.log_flex;
  g.flex_bg = shape.log_flex > 0;
  g.stripe = shape.stripe;
  g.journal = shape.journal;
  g.desc_csum = shape.desc_csum;
  g.extents = shape.extents;
  return g;
}

}  // namespace

const std::vector<ModelShape>& model_shapes() {
  static const std::vector<ModelShape> kShapes = {
      {.name = "blocks_1k_pairs",
       .groups = 21,
       .block_bits = 10,
       .clusters_per_group = 8192,
       .missing = 1000,
       .log_flex = 4},
      {.name = "blocks_2k_no_flex", .groups = 17, .block_bits = 11, .clusters_per_group = 2048},
      {.name = "blocks_4k_forty_groups",
       .groups = 40,
       .block_bits = 12,
       .clusters_per_group = 2048,
       .missing = 777,
       .log_flex = 3},
      {.name = "blocks_4k_full_size", .groups = 3, .block_bits = 12, .clusters_per_group = 32768},
      {.name = "blocks_64k", .groups = 2, .block_bits = 16, .clusters_per_group = 65528},
      {.name = "bigalloc_16_of_1k",
       .groups = 18,
       .block_bits = 10,
       .clusters_per_group = 2048,
       .cluster_bits = 4,
       .log_flex = 2},
      {.name = "bigalloc_4_of_4k",
       .groups = 6,
       .block_bits = 12,
       .clusters_per_group = 4096,
       .cluster_bits = 2,
       .missing = 100},
      {.name = "odd_group_size",
       .groups = 20,
       .block_bits = 12,
       .clusters_per_group = 1032,
       .missing = 8},
      {.name = "tiny_groups",
       .groups = 33,
       .block_bits = 12,
       .clusters_per_group = 264,
       .log_flex = 4},
      {.name = "one_group", .groups = 1, .block_bits = 12, .clusters_per_group = 4096},
      {.name = "two_groups",
       .groups = 2,
       .block_bits = 12,
       .clusters_per_group = 2048,
       .missing = 1500},
      {.name = "no_journal",
       .groups = 16,
       .block_bits = 12,
       .clusters_per_group = 1024,
       .journal = false},
      {.name = "no_checksums",
       .groups = 24,
       .block_bits = 10,
       .clusters_per_group = 1024,
       .log_flex = 2,
       .desc_csum = false},
      {.name = "stripe_16",
       .groups = 20,
       .block_bits = 12,
       .clusters_per_group = 2048,
       .stripe = 16},
      {.name = "stripe_24_flex",
       .groups = 16,
       .block_bits = 12,
       .clusters_per_group = 2048,
       .log_flex = 4,
       .stripe = 24},
      {.name = "no_extents",
       .groups = 19,
       .block_bits = 12,
       .clusters_per_group = 1024,
       .extents = false},
  };
  return kShapes;
}

const ModelShape& model_shape(std::string_view name) {
  const auto& all = model_shapes();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const ModelShape& shape) { return shape.name == name; });
  if (found == all.end()) throw std::invalid_argument("no model shape " + std::string(name));
  return *found;
}

ModelFs::ModelFs(const ModelShape& shape) {
  source_.geometry = geometry_of(shape);
  source_.groups.resize(shape.groups);
  words_.resize(shape.groups);
  for (std::uint32_t number = 0; number < shape.groups; ++number) {
    auto& words = words_[number];
    words.assign((shape.clusters_per_group + 63) / 64, ~0ull);
    bitmap::clear_range(words, kMetadata, geometry().clusters_in(number) - kMetadata);
  }
}

void ModelFs::use(std::uint32_t group, std::uint32_t start, std::uint32_t len) {
  bitmap::set_range(words_[group], start, len);
}

void ModelFs::free(std::uint32_t group, std::uint32_t start, std::uint32_t len) {
  bitmap::clear_range(words_[group], start, len);
}

void ModelFs::fill() {
  for (std::uint32_t group = 0; group < geometry().groups; ++group)
    use(group, 0, geometry().clusters_in(group));
}

ClusterMap ModelFs::add_file(Rng& rng, std::uint32_t clusters, std::uint32_t longest) {
  ClusterMap map;
  std::uint32_t logical = 0;
  for (int run = 0; run < 1000 && logical < clusters; ++run) {
    const auto group = static_cast<std::uint32_t>(rng.below(geometry().groups));
    const std::uint32_t limit = geometry().clusters_in(group);
    auto at =
        bitmap::find_clear(words_[group], limit, static_cast<std::uint32_t>(rng.below(limit)));
    auto left = std::min(clusters - logical, static_cast<std::uint32_t>(rng.between(1, longest)));
    for (; left > 0 && at < limit && !is_used(group, at); --left, ++at) {
      use(group, at, 1);
      map[logical++] = geometry().block_of(group, at);
    }
    if (rng.chance(1, 6)) ++logical;  // a hole
  }
  return map;
}

void ModelFs::leave_uninit(Rng& rng, std::uint32_t percent) {
  for (std::uint32_t number = 0; number < geometry().groups; ++number) {
    const std::uint32_t limit = geometry().clusters_in(number);
    const bool empty = bitmap::all_clear(words_[number], kMetadata, limit - kMetadata);
    source_.groups[number].block_uninit = geometry().desc_csum && empty && rng.chance(percent, 100);
  }
}

const state::Source& ModelFs::source() {
  for (std::uint32_t number = 0; number < geometry().groups; ++number) {
    state::GroupSource& group = source_.groups[number];
    group.words = words_[number];
    group.init_free = bitmap::count_clear(group.words, geometry().clusters_per_group);
    group.disk_free = group.init_free;
  }
  return source_;
}

void load_all(state::FsState& state) {
  for (std::uint32_t number = 0; number < state.group_count(); ++number) {
    state.load(number);
    state.mark_read(state.group(number));
  }
}

namespace {

using trace::Event;
using trace::EventKind;

constexpr Thread kJournal = {1 << 20, 0};  // not a thread of any workload
constexpr std::uint32_t kWide = 0xffff;    // fields of 16 bits

trace::RecordedExtent extent_of(const Extent& e) {
  return {e.group, static_cast<std::int32_t>(e.start), e.len, e.logical};
}

}  // namespace

Result<std::span<const Event>> MemorySource::next() {
  const auto batch = left_.first(std::min(batch_, left_.size()));
  left_ = left_.subspan(batch.size());
  return batch;
}

Event& KernelTraceWriter::add(EventKind kind, const Thread& thread, std::uint64_t ino) {
  Event& event = events_.emplace_back();
  event.kind = kind;
  event.pid = thread.pid;
  event.cpu = thread.cpu;
  event.ino = ino;
  event.time_ns = taken_ + events_.size();
  return event;
}

std::vector<Event> KernelTraceWriter::take_events() {
  taken_ += events_.size();
  return std::exchange(events_, {});
}

KernelTraceWriter::Open KernelTraceWriter::open(const Thread& thread,
                                                const allocator::Request& request,
                                                std::uint32_t asked) {
  Event& event = add(EventKind::request_blocks, thread, request.ino);
  event.flags = request.flags;
  event.count = asked;
  event.logical = request.logical;
  event.goal = request.goal;
  event.left_logical = request.left_logical;
  event.right_logical = request.right_logical;
  event.left_block = request.left_block;
  event.right_block = request.right_block;
  if (inputs_) {
    event.has_inputs = true;
    event.i_size = request.size_hint;
    event.i_writecount = request.open_for_write ? 1 : 0;
  }
  return {thread, request, events_.size() - 1, false};
}

void KernelTraceWriter::mark_decision(Open& open, const allocator::Decision& decision) {
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
    // No other event marks the moment of the decision. So the request event is moved to that
    // moment.
    const Event request = events_[open.at];
    events_.erase(events_.begin() + static_cast<std::ptrdiff_t>(open.at));
    events_.push_back(request);
  }
}

void KernelTraceWriter::finish(const Open& open, const allocator::Decision& decision) {
  if (!open.closed) close(open, decision);
  answer(open, decision.success ? decision.block : 0, decision.success ? decision.len : 0);
}

void KernelTraceWriter::refuse(const Open& open) {
  answer(open, 0, 0);
}

void KernelTraceWriter::close(const Open& open, const allocator::Decision& decision) {
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

void KernelTraceWriter::answer(const Open& open, std::uint64_t block, std::uint32_t len) {
  Event& event = add(EventKind::allocate_blocks, open.thread, open.request.ino);
  event.block = block;
  event.count = len;
  event.logical = open.request.logical;
  event.flags = open.request.flags;
}

void KernelTraceWriter::add_free(const Thread& thread, std::uint64_t ino, std::uint32_t group,
                                 std::uint32_t start, std::uint32_t len) {
  add(EventKind::mballoc_free, thread, ino).result = {group, static_cast<std::int32_t>(start), len,
                                                      0};
}

void KernelTraceWriter::add_discard(const Thread& thread, std::uint64_t ino) {
  add(EventKind::discard_preallocations, thread, ino);
}

void KernelTraceWriter::add_load(const Thread& thread, std::uint32_t group) {
  add(EventKind::buddy_bitmap_load, thread, 0).group = group;
}

void KernelTraceWriter::add_inode_event(const Thread& thread, EventKind kind, std::uint64_t ino) {
  add(kind, thread, ino);
}

void KernelTraceWriter::add_commit(EventKind kind, std::uint64_t transaction) {
  add(kind, kJournal, 0).block = transaction;
}

void KernelTraceWriter::add_mark_used(const Thread& thread, const Extent& taken) {
  Event& e = add(EventKind::mark_used, thread, 0);
  e.group = taken.group;
  e.logical = taken.start;
  e.count = taken.len;
}

void KernelTraceWriter::add_mark_freed(std::uint32_t group, std::uint32_t start,
                                       std::uint32_t len) {
  Event& e = add(EventKind::mark_freed, kJournal, 0);
  e.group = group;
  e.logical = start;
  e.count = len;
}

}  // namespace e4r::conformance
