// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "allocator/kernel.h"
#include "allocator/request.h"
#include "allocator/search.h"
#include "allocator/tunables.h"
#include "ext4/request_flags.h"

// Aligned allocation; policies/forcealign.cc describes it.
namespace e4r::allocator {

// The file's extsize in blocks; 0 when it has no extsize.
[[nodiscard]] inline std::uint32_t extsize_of(const AlignRules& rules, const Tunables& tunables,
                                              std::uint64_t ino) {
  if (!rules.forced || tunables.extsize <= 1) return 0;
  if (tunables.extsize_every > 1 && ino % tunables.extsize_every != 0) return 0;
  return static_cast<std::uint32_t>(tunables.extsize);
}

// The alignment that the request needs, in clusters; 0: no alignment. Requests for metadata and
// with EXT4_MB_HINT_GOAL_ONLY are not aligned.
[[nodiscard]] inline std::uint32_t alignment_of(const AlignRules& rules, const Tunables& tunables,
                                                const Geometry& geometry, const Request& request) {
  if ((request.flags & mb::hint_data) == 0 || (request.flags & mb::hint_goal_only) != 0) return 0;
  const std::uint32_t clusters = extsize_of(rules, tunables, request.ino) >> geometry.cluster_bits;
  return clusters > 1 ? clusters : 0;
}

// Clusters of the shortest aligned extent that holds the request.
[[nodiscard]] inline std::uint32_t aligned_len(const Search& search) {
  return std::max(std::bit_ceil(search.orig.len), search.extsize);
}

// Whether the request has the form that ext4_map_blocks gives it: its length is a power of two of
// at least extsize, and its file block is a multiple of extsize. Requests of a trace need not have
// this form.
[[nodiscard]] inline bool is_aligned_request(const Search& search) {
  const std::uint64_t blocks = search.state.geometry().to_blocks(search.extsize);
  return search.orig.len == aligned_len(search) && search.orig.logical % blocks == 0;
}

// Whether the extent's first block on the device is a multiple of `len` clusters.
[[nodiscard]] inline bool starts_aligned(const Geometry& geometry, const Extent& extent,
                                         std::uint32_t len) {
  return geometry.block_of(extent.group, extent.start) % geometry.to_blocks(len) == 0;
}

}  // namespace e4r::allocator
