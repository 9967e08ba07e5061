// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/free_extents.h"

#include <gtest/gtest.h>

#include <random>

namespace e4r::stats {
namespace {

Geometry geometry(std::uint64_t blocks, std::uint32_t first, std::uint32_t cluster_bits) {
  Geometry out;
  out.block_bits = first != 0 ? 10 : 12;
  out.first_data_block = first;
  out.blocks_count = blocks;
  out.cluster_bits = cluster_bits;
  out.clusters_per_group = 256;
  out.blocks_per_group = 256u << cluster_bits;
  out.groups = static_cast<std::uint32_t>((blocks - first + out.blocks_per_group - 1) /
                                          out.blocks_per_group);
  return out;
}

// Draws random bitmaps made of runs.
std::vector<std::vector<std::uint64_t>> draw(const Geometry& geo, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<std::vector<std::uint64_t>> out;
  for (GroupNumber group = 0; group < geo.groups; ++group) {
    std::vector<std::uint64_t> words(geo.words_per_group(), ~0ull);
    for (std::uint32_t at = rng() % 30; at < geo.clusters_in(group); at += 1 + rng() % 40) {
      const std::uint32_t end =
          std::min<std::uint32_t>(at + 1 + rng() % 60, geo.clusters_in(group));
      state::bitmap::clear_range(words, at, end - at);
      at = end;
    }
    out.push_back(std::move(words));
  }
  return out;
}

// Returns the expected cells, counted block by block.
std::vector<SpaceCell> expected(const Geometry& geo, const std::vector<SpaceCell>& shape,
                                const std::vector<std::vector<std::uint64_t>>& bitmaps) {
  std::vector<SpaceCell> out;
  for (const SpaceCell& cell : shape) {
    SpaceCell want = {cell.first_block, cell.blocks, 0, 0, 0};
    for (std::uint64_t b = cell.first_block; b < cell.first_block + cell.blocks; ++b) {
      const GroupNumber group = geo.group_of(b);
      const auto is_free = [&](std::uint64_t block) {
        return geo.holds_block(block) && geo.group_of(block) == group &&
               !state::bitmap::test(bitmaps[group], geo.cluster_in_group(block));
      };
      if (!is_free(b)) continue;
      std::uint64_t from = b, to = b + 1;
      while (from > 0 && is_free(from - 1)) --from;
      while (is_free(to)) ++to;
      ++want.free_blocks;
      if (from == b) ++want.free_extents;
      want.longest = std::max(want.longest, to - from);
    }
    out.push_back(want);
  }
  return out;
}

TEST(SpaceMap, CountsWhatThereIsBlockByBlock) {
  for (const Geometry& geo : {geometry(1024, 0, 0), geometry(2049, 1, 0), geometry(3000, 0, 2)})
    for (const std::uint64_t cells : {1, 3, 4, 7, 64, 1000, 5000}) {
      const auto bitmaps = draw(geo, static_cast<unsigned>(cells));
      SpaceMap low(geo, cells), high(geo, cells);
      for (GroupNumber group = 0; group < geo.groups; ++group)
        (group < 2 ? low : high).add(group, bitmaps[group]);
      low.merge(high);
      EXPECT_EQ(low.cells(), expected(geo, low.cells(), bitmaps))
          << geo.blocks_count << " blocks, " << cells << " cells";
    }
}

TEST(SpaceMap, CellsCoverTheGroupsAndDifferByOneBlockAtMost) {
  for (const std::uint64_t cells : {1, 2, 7, 1000, 1 << 20}) {
    const Geometry geo = geometry(2049, 1, 0);
    const SpaceMap map(geo, cells);
    std::uint64_t next = 1;
    for (const SpaceCell& cell : map.cells()) {
      EXPECT_EQ(cell.first_block, next);
      EXPECT_LE(map.cells().front().blocks - cell.blocks, 1u);
      EXPECT_GE(cell.blocks, 1u);
      next += cell.blocks;
    }
    EXPECT_EQ(next, geo.blocks_count);
    EXPECT_EQ(map.cells().size(), std::min<std::uint64_t>(cells, 2048));
  }
}

}  // namespace
}  // namespace e4r::stats
