// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/request.h"

#include <algorithm>

#include "allocator/kernel.h"
#include "ext4/criterion.h"

namespace e4r::allocator {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::int64_t kMaxFileBlocks = 0xffffffff;  // EXT_MAX_BLOCKS

// A range of file blocks. 64 bits, because intermediate values may lie past the largest file block.
struct Range {
  std::int64_t start;
  std::int64_t size;
  [[nodiscard]] std::int64_t end() const { return start + size; }
};

std::int64_t round_down(std::int64_t n, std::int64_t unit) {
  return n - n % unit;
}

// The range that the file's size alone suggests.
Range predict(const Geometry& geometry, const Extent& orig, SizeStep step) {
  const std::uint32_t bits = geometry.block_bits;
  const auto chunk = [&](std::uint64_t bytes) {
    const auto blocks = static_cast<std::int64_t>(bytes >> bits);
    return Range{round_down(orig.logical, std::max<std::int64_t>(blocks, 1)), blocks};
  };
  if (step <= SizeStep::m1)
    return {0, static_cast<std::int64_t>((16384ull << static_cast<int>(step)) >> bits)};
  if (step == SizeStep::m4) return chunk(2 * kMiB);
  if (step == SizeStep::m8) return chunk(4 * kMiB);
  // The kernel compares clusters with blocks in this condition; so does the model.
  const bool fits_8m = orig.len <= (8 * kMiB >> bits) || (2u << bits) <= 8192;
  if (fits_8m) return chunk(8 * kMiB);
  return {orig.logical, static_cast<std::int64_t>(geometry.to_blocks(orig.len))};
}

// Keeps the range clear of the mapped neighbours, within one group, and within the largest file
// size.
void clip(const Geometry& geometry, const Extent& orig, const Request& request, Range& range) {
  const std::int64_t group = geometry.blocks_per_group;
  range.start = std::max(range.start, round_down(orig.logical, group));
  if (range.end() > kMaxFileBlocks) range.size = kMaxFileBlocks - range.start;
  if (request.left_block != 0 && range.start <= request.left_logical) {
    range.size -= request.left_logical + 1ll - range.start;
    range.start = request.left_logical + 1ll;
  }
  if (request.right_block != 0 && range.end() - 1 >= request.right_logical)
    range.size -= range.end() - request.right_logical;
  range.size = std::min(range.size, group);
}

// Shrinks the range so that it touches the file's preallocations but does not cross them.
void avoid_preallocs(const Geometry& geometry, const Extent& orig,
                     const state::InodePreallocs* preallocs, Range& range) {
  if (preallocs == nullptr) return;
  const std::int64_t first = range.start;
  const std::int64_t last = range.end();
  std::int64_t start = first;
  std::int64_t end = last;
  for (const state::Prealloc& pa : preallocs->list) {
    const auto pa_end = static_cast<std::int64_t>(pa.logical + geometry.to_blocks(pa.len));
    if (pa.logical >= end || pa_end <= start) continue;
    if (pa_end <= orig.logical)
      start = pa_end;
    else if (pa.logical > orig.logical)
      end = pa.logical;
  }
  range = {start, end - start};
}

}  // namespace

SizeStep size_step(std::uint64_t bytes, const Geometry& geometry) {
  for (int step = 0; step <= static_cast<int>(SizeStep::m1); ++step)
    if (bytes <= 16384ull << step) return static_cast<SizeStep>(step);
  // The block size limits the size of a chunk, so the larger steps do not exist for small blocks.
  const std::uint64_t max_chunk = 2ull << geometry.block_bits;
  if (bytes <= 4 * kMiB || max_chunk <= 2048) return SizeStep::m4;
  if (bytes <= 8 * kMiB || max_chunk <= 4096) return SizeStep::m8;
  return SizeStep::large;
}

std::uint64_t smallest_in(SizeStep step) {
  if (step == SizeStep::k16) return 0;
  if (step <= SizeStep::m4) return (16384ull << (static_cast<int>(step) - 1)) + 1;
  return step == SizeStep::m8 ? 4 * kMiB + 1 : 8 * kMiB + 1;
}

Normalized normalize(const Geometry& geometry, const Search& search, const Request& request,
                     const state::InodePreallocs* preallocs, SizeStep step,
                     NeighbourGoal neighbour) {
  const Extent& orig = search.orig;
  Range range = predict(geometry, orig, step);
  if (search.extsize != 0)
    range = {
        orig.logical,
        std::max(range.size, static_cast<std::int64_t>(geometry.to_blocks(aligned_len(search))))};
  clip(geometry, orig, request, range);
  avoid_preallocs(geometry, orig, preallocs, range);
  Normalized out;
  out.goal = search.goal;
  if (range.size <= 0 || range.start > orig.logical || range.end() <= orig.logical) return out;
  out.consistent = true;
  out.goal.logical = static_cast<std::uint32_t>(range.start);
  out.goal.len =
      static_cast<std::uint32_t>(geometry.to_clusters(static_cast<std::uint64_t>(range.size)));
  const auto aim = [&](std::uint64_t block, Extent& place) {
    out.flags = mb::hint_try_goal;
    place.group = geometry.group_of(block);
    place.start = geometry.cluster_in_group(block);
  };
  const auto size = static_cast<std::uint64_t>(range.size);
  const bool meets_right = request.right_block != 0 && request.right_logical == range.end();
  const bool meets_left = request.left_block != 0 && request.left_logical + 1ll == range.start;
  if (neighbour == NeighbourGoal::lost) {
    // Kernels with NeighbourGoal::lost do not check whether the place exists.
    if (meets_right) aim(request.right_block - size, out.lost);
    if (meets_left) aim(request.left_block + 1, out.lost);
    return out;
  }
  if (meets_right && request.right_block >= size &&
      geometry.holds_block(request.right_block - size))
    aim(request.right_block - size, out.goal);
  if (meets_left && geometry.holds_block(request.left_block + 1))
    aim(request.left_block + 1, out.goal);
  return out;
}

Mode mode_by_size(const Geometry& geometry, const Tunables& tunables, const Extent& orig,
                  const Request& request, bool groups_closed_files) {
  const std::uint64_t end = logical_end(geometry, orig);
  const std::uint64_t file = geometry.blocks_of_bytes(request.size_hint);
  const bool closed_file = request.inputs_exact && end == file && !request.open_for_write;
  const bool small =
      std::max(end, file) <= tunables.mb_stream_req && tunables.mb_group_prealloc > 0;
  if (small && (groups_closed_files || !closed_file)) return Mode::group;
  return closed_file ? Mode::noprealloc : Mode::stream;
}

// Applies the modelled kernel's rule to a recorded mode. If the recorded request used no
// preallocation, it ends at the end of a file that no program has open for writing. So the file's
// size is known.
Mode mode_as_recorded(Mode recorded, const Geometry& geometry, const Tunables& tunables,
                      const Extent& orig, bool groups_closed_files) {
  if (recorded != Mode::noprealloc || !groups_closed_files || tunables.mb_group_prealloc == 0)
    return recorded;
  return logical_end(geometry, orig) <= tunables.mb_stream_req ? Mode::group : recorded;
}

namespace {

std::uint32_t place_in_window(const Geometry& geometry, const Extent& orig, const Extent& goal,
                              std::uint32_t len) {
  const auto size = static_cast<std::int64_t>(geometry.to_blocks(len));
  const auto spare = size - static_cast<std::int64_t>(geometry.to_blocks(orig.len));
  std::int64_t back = std::min<std::int64_t>(std::int64_t{orig.logical} - goal.logical, spare);
  const std::int64_t aligned = orig.logical % size;
  if (aligned != 0 && aligned < back) back = aligned;
  // The kernel subtracts clusters from blocks here; so does the model.
  const auto blocks = static_cast<std::int64_t>(geometry.to_blocks(1));
  return static_cast<std::uint32_t>(orig.logical - (back + blocks - 1) / blocks);
}

}  // namespace

std::uint32_t place_in_goal(const Geometry& geometry, const Extent& orig, const Extent& goal,
                            std::uint32_t len, Placement placement) {
  if (placement == Placement::window) return place_in_window(geometry, orig, goal, len);
  const std::uint64_t goal_end = logical_end(geometry, goal);
  const std::uint64_t size = geometry.to_blocks(len);
  if (orig.logical >= goal_end - size) return static_cast<std::uint32_t>(goal_end - size);
  const std::uint64_t kept_end = goal.logical + size;
  const bool covers = placement == Placement::over_start ? orig.logical < kept_end
                                                         : logical_end(geometry, orig) <= kept_end;
  if (covers) return goal.logical;
  return orig.logical;
}

}  // namespace e4r::allocator
