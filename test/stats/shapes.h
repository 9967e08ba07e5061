// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "state/group.h"

namespace e4r::stats {

// The shape of a file system.
struct SpaceShape {
  std::uint32_t block_bits;
  std::uint32_t cluster_bits;
  std::uint32_t clusters_per_group;
  std::uint32_t groups;
  std::uint32_t missing;  // blocks that the last group lacks
};

inline state::MountedGeometry geometry_of(const SpaceShape& c) {
  state::MountedGeometry g;
  g.block_bits = c.block_bits;
  g.cluster_bits = c.cluster_bits;
  g.clusters_per_group = c.clusters_per_group;
  g.blocks_per_group = c.clusters_per_group << c.cluster_bits;
  g.groups = c.groups;
  g.first_data_block = c.block_bits == 10 && c.cluster_bits == 0 ? 1 : 0;
  g.blocks_count = std::uint64_t{g.blocks_per_group} * c.groups - c.missing + g.first_data_block;
  return g;
}

}  // namespace e4r::stats
