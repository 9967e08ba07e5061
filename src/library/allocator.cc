// SPDX-License-Identifier: GPL-2.0-or-later
#include <e4replay/allocator.h>

#include "app/setups.h"
#include "library/data.h"
#include "stats/layout.h"
#include "stats/mb_files.h"

namespace e4replay {

namespace allocator = e4r::allocator;
namespace mb = e4r::mb;

static_assert(request_flag::merge == mb::hint_merge && request_flag::data == mb::hint_data &&
              request_flag::noprealloc == mb::hint_noprealloc &&
              request_flag::goal_only == mb::hint_goal_only &&
              request_flag::try_goal == mb::hint_try_goal &&
              request_flag::delalloc_reserved == mb::delalloc_reserved &&
              request_flag::use_root_blocks == mb::use_root_blocks &&
              request_flag::use_reserved == mb::use_reserved);

struct Allocator::Data {
  Image image;  // owns the data from which the decider started
  const e4r::state::Source& source;
  std::unique_ptr<allocator::Decider> decider;
};

namespace {

Extent public_extent(const e4r::Extent& extent) {
  return {extent.group, extent.start, extent.len, extent.logical};
}

e4r::Status check_request(const Request& r, const e4r::Geometry& geometry) {
  if (r.ino == 0) return e4r::error("a request for inode 0: inodes are counted from 1");
  if (r.len == 0 || r.len > geometry.clusters_per_group)
    return e4r::error("a request for {} clusters: give 1 to {}, the clusters of a group", r.len,
                      geometry.clusters_per_group);
  if (r.logical + geometry.to_blocks(r.len) > e4r::kMaxFileBlocks)
    return e4r::error(
        "a request for {} clusters at block {} of a file: a file has at most 2^32 blocks", r.len,
        r.logical);
  for (const std::uint64_t block : {r.goal, r.left_block, r.right_block})
    if (block != 0 && !geometry.holds_block(block))
      return e4r::error("a request with block {}: the file system has {} to {}", block,
                        geometry.first_data_block, geometry.blocks_count - 1);
  return {};
}

allocator::Request own_request(const Request& r) {
  allocator::Request out;
  out.ino = r.ino;
  out.len = r.len;
  out.logical = r.logical;
  out.goal = r.goal;
  out.left_block = r.left_block;
  out.right_block = r.right_block;
  out.left_logical = r.left_logical;
  out.right_logical = r.right_logical;
  out.flags = r.flags;
  out.cpu = r.cpu;
  out.size_hint = r.file_size;
  out.inputs_exact = true;
  out.open_for_write = r.open_for_write;
  return out;
}

// Frees `range`, which lies in one group.
e4r::Status free_in_group(allocator::Decider& decider, const e4r::state::Source& source,
                          const e4r::BlockRange& range, bool file_data) {
  const e4r::Geometry& g = source.geometry;
  if (source.has_metadata(range))
    return e4r::error("blocks {} to {}: part of them is metadata", range.first, range.end() - 1);
  const std::uint32_t group = g.group_of(range.first);
  decider.load_group(group);
  const auto clusters = static_cast<std::uint32_t>(g.to_clusters(range.count));
  if (decider.free(group, g.cluster_in_group(range.first), clusters, file_data)) return {};
  return e4r::error("blocks {} to {}: part of them is not in use", range.first, range.end() - 1);
}

e4r::Status check_range(const e4r::Geometry& g, std::uint64_t first, std::uint64_t count) {
  if (!g.holds_block(first) || count == 0 || count > g.blocks_count - first)
    return e4r::error("{} blocks from block {}: the file system has {} to {}", count, first,
                      g.first_data_block, g.blocks_count - 1);
  const std::uint64_t mask = (std::uint64_t{1} << g.cluster_bits) - 1;
  const bool at_end = first + count == g.blocks_count;
  if (((first - g.first_data_block) & mask) != 0 || ((count & mask) != 0 && !at_end))
    return e4r::error("{} blocks from block {} on: give whole clusters of {} blocks", count, first,
                      mask + 1);
  return {};
}

}  // namespace

Decision public_decision(const allocator::Decision& decision) {
  Decision out;
  out.success = decision.success;
  out.preallocated = decision.prealloc;
  out.block = decision.block;
  out.len = decision.len;
  out.goal = public_extent(decision.goal);
  out.result = public_extent(decision.result);
  out.criterion = decision.criterion;
  out.extents_examined = decision.found;
  out.groups_scanned = decision.groups_scanned;
  out.flags = decision.flags;
  return out;
}

Allocator::Allocator(std::unique_ptr<Data> data) : data_(std::move(data)) {}
Allocator::Allocator(Allocator&&) noexcept = default;
Allocator& Allocator::operator=(Allocator&&) noexcept = default;
Allocator::~Allocator() = default;

Result<Allocator> Allocator::create(const Image& image, const AllocatorOptions& options) {
  const auto& start = Access::data(image);
  if (start->source == nullptr)
    return e4r::error("{}: was opened without its bitmaps, which an allocator needs", start->name);
  E4R_TRY(const allocator::Policy* policy, e4r::app::parse_policy(options.policy));
  allocator::Tunables tunables = start->tunables;
  E4R_CHECK(e4r::app::apply_settings(tunables, options.settings));
  E4R_TRY(std::unique_ptr<allocator::Decider> decider,
          e4r::app::make_decider(*policy, tunables, {*start->source, start->path, start->name},
                                 options.loaded));
  return Allocator(std::make_unique<Data>(Data{image, *start->source, std::move(decider)}));
}

Result<Allocator> Allocator::create(const Recording& recording, const AllocatorOptions& options) {
  return create(recording.image(), options);
}

Result<Decision> Allocator::allocate(const Request& request) {
  E4R_CHECK(check_request(request, data_->source.geometry));
  const allocator::Decision decision = data_->decider->allocate(own_request(request), nullptr);
  E4R_CHECK(data_->decider->status());
  return public_decision(decision);
}

Status Allocator::free(std::uint64_t first, std::uint64_t count, bool file_data) {
  const e4r::Geometry& g = data_->source.geometry;
  E4R_CHECK(check_range(g, first, count));
  for (e4r::BlockRange range = {first, count}; range.count > 0;) {
    const e4r::BlockRange part = g.front_in_group(range);
    E4R_CHECK(free_in_group(*data_->decider, data_->source, part, file_data));
    E4R_CHECK(data_->decider->status());
    range = {part.end(), range.count - part.count};
  }
  return {};
}

void Allocator::commit() {
  data_->decider->begin_commit();
  data_->decider->end_commit();
  data_->decider->send_discards(allocator::Discards::kAll);
}

void Allocator::discard(std::uint64_t ino, std::uint32_t needed) {
  data_->decider->discard_inode(ino, needed);
}

void Allocator::make_inode(std::uint64_t ino) {
  data_->decider->make_inode(ino);
}

void Allocator::drop_inode(std::uint64_t ino) {
  data_->decider->discard_inode(ino, 0);
  data_->decider->drop_inode(ino);
}

Result<GroupState> Allocator::group(std::uint32_t number) const {
  const e4r::state::FsState& state = data_->decider->state();
  if (number >= state.group_count())
    return e4r::error("there is no group {}: the file system has {}", number, state.group_count());
  const e4r::state::Group& group = state.group(number);
  GroupState out;
  out.free_clusters = group.free;
  out.free_runs = group.fragments;
  out.largest_order = std::int32_t{group.largest_order};
  out.loaded = !group.need_init;
  out.damaged = group.corrupt;
  return out;
}

std::vector<std::uint64_t> Allocator::bitmap(std::uint32_t number) const {
  std::vector<std::uint64_t> out;
  const e4r::state::FsState& state = data_->decider->state();
  if (number < state.group_count()) state.settled_words(number, out);
  return out;
}

FreeExtents Allocator::free_extents() const {
  const std::uint32_t bits = e4r::stats::mebibyte_bits(data_->source.geometry.block_bits);
  return public_extents(e4r::stats::settled_free(data_->decider->state(), bits).extents);
}

std::vector<Counter> Allocator::counters() const {
  std::vector<Counter> out;
  for (e4r::stats::MbStat& stat :
       e4r::stats::mb_stats(data_->decider->policy(), data_->decider->counters()))
    out.push_back({std::move(stat.name), stat.value});
  return out;
}

std::vector<std::string> Allocator::check(std::uint64_t limit) const {
  return data_->decider->state().check(limit);
}

}  // namespace e4replay
