// SPDX-License-Identifier: GPL-2.0-or-later
// Compares the counts of aligned free pieces with a count block by block, and with the free blocks
// that dumpe2fs lists.
#include "stats/free_extents.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "image/image.h"
#include "replay/load.h"
#include "stats/layout.h"
#include "stats/shapes.h"
#include "support/ext2_images.h"
#include "support/model.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "util/rng.h"

namespace e4r::stats {
namespace {

using Pieces = std::array<std::uint64_t, 3>;

// free[b] is true if block b of the device is free. A piece counts if all of its blocks are free
// and in one group.
Pieces pieces_one_by_one(const std::vector<bool>& free, const Geometry& g) {
  Pieces out = {};
  const std::array<std::uint64_t, 3> bytes = {16384, 65536, 262144};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::uint64_t size = bytes[i] / g.block_size();
    size = std::max<std::uint64_t>(size, 1ull << g.cluster_bits);
    for (std::uint64_t at = 0; at + size <= free.size(); at += size) {
      if (at < g.first_data_block) continue;
      bool all = g.group_of(at) == g.group_of(at + size - 1);
      for (std::uint64_t b = at; b < at + size && all; ++b) all = free[b];
      out[i] += all ? 1 : 0;
    }
  }
  return out;
}

class AlignedFreeOf : public testing::TestWithParam<SpaceShape> {};

// In the last shape, the size of a group is not a multiple of a piece.
INSTANTIATE_TEST_SUITE_P(
    Shapes, AlignedFreeOf,
    testing::Values(SpaceShape{12, 0, 32768, 2, 77}, SpaceShape{10, 0, 8192, 9, 17},
                    SpaceShape{12, 2, 4096, 3, 5}, SpaceShape{12, 6, 512, 3, 100},
                    SpaceShape{16, 0, 1016, 3, 0}, SpaceShape{12, 0, 1000, 7, 0}));

TEST_P(AlignedFreeOf, RandomBitmapsAgreeWithBlockByBlock) {
  const auto g = geometry_of(GetParam());
  Rng rng(31);
  Pieces seen = {};
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(round);
    std::vector<bool> free(g.blocks_count);
    AlignedFree counted;
    const std::uint64_t longest = 1ull << rng.between(4, 11);
    bool used = false;
    std::uint64_t run = rng.between(1, longest);
    for (std::uint32_t group = 0; group < g.groups; ++group) {
      std::vector<std::uint64_t> words(g.words_per_group(), ~0ull);
      for (std::uint32_t cluster = 0; cluster < g.clusters_in(group); ++cluster) {
        if (run-- == 0) {
          used = !used;
          run = used ? rng.below(9) : rng.between(1, longest);
        }
        if (used) continue;
        state::bitmap::clear(words, cluster);
        const std::uint64_t first = g.block_of(group, cluster);
        for (std::uint64_t b = first; b < first + g.to_blocks(1) && b < free.size(); ++b)
          free[b] = true;
      }
      counted.add_group(g, group, words);
    }
    EXPECT_EQ(counted.pieces, pieces_one_by_one(free, g));
    for (std::size_t i = 0; i < seen.size(); ++i) seen[i] += counted.pieces[i];
  }
  for (const std::uint64_t count : seen) EXPECT_GT(count, 0u);
}

TEST(AlignedFree, PiecesLieInOneGroup) {
  // With blocks of 1 KiB, groups begin at block 1, so block 8192 is the last of group 0.
  const auto g = geometry_of({10, 0, 8192, 2, 0});
  AlignedFree whole;
  const std::vector<std::uint64_t> words(128, 0);
  whole.add_group(g, 0, words);
  whole.add_group(g, 1, words);
  // Blocks 1 to 16384 are free. Three parts of them are not pieces: the first part lacks block 0,
  // the part with block 8192 spans both groups, and block 16384 is alone.
  EXPECT_EQ(whole.pieces, (Pieces{1024 - 2, 256 - 2, 64 - 2}));
  EXPECT_EQ(whole.blocks(g, 1), 64u * 254);
}

// Parses the lines "Free blocks: 17-19, 25" of all groups.
std::vector<bool> free_by_dumpe2fs(const std::string& path, std::uint64_t blocks) {
  std::vector<bool> free(blocks);
  const std::string out = test::run({"dumpe2fs", path}).out;
  constexpr std::string_view kMark = "\n  Free blocks: ";
  for (std::size_t at = out.find(kMark); at != std::string::npos; at = out.find(kMark, at + 1)) {
    const std::size_t begin = at + kMark.size();
    std::istringstream line(out.substr(begin, out.find('\n', begin) - begin));
    for (std::string part; std::getline(line, part, ',');) {
      if (part.find_first_of("0123456789") == std::string::npos) continue;
      const std::size_t dash = part.find('-');
      const std::uint64_t first = std::stoull(part);
      const std::uint64_t last =
          dash == std::string::npos ? first : std::stoull(part.substr(dash + 1));
      for (std::uint64_t b = first; b <= last; ++b) free.at(b) = true;
    }
  }
  return free;
}

TEST(AlignedFree, AreThoseOfTheFreeBlocksOfDumpe2fs) {
  for (const char* block : {"1024", "4096"}) {
    const test::TempDir dir;
    const std::string path = dir.file("image");
    test::make_image(path, 256ull << 20, {"-t", "ext4", "-b", block});
    test::fill_image(path, {.seed = 5, .max_free = 300, .max_used = 9, .skip_percent = 40});
    const auto image = image::Image::open(path);
    ASSERT_TRUE(image.ok()) << image.error().message;
    const SettledFree free = source_free(replay::source_from(*image), 0);
    const Geometry& g = image->superblock();
    const Pieces want = pieces_one_by_one(free_by_dumpe2fs(path, g.blocks_count), g);
    EXPECT_EQ(free.space.aligned.pieces, want) << block;
    for (const std::uint64_t count : want) EXPECT_GT(count, 100u) << block;
  }
}

// As many requests must succeed as there are pieces. The next request must fail.
TEST(AlignedFree, AreAsManyAsForcealignServes) {
  test::ModelFs fs({.name = "holes", .groups = 20, .block_bits = 12, .clusters_per_group = 2048});
  fs.fill();
  Rng rng(3);
  for (std::uint32_t group = 0; group < 20; ++group)
    for (std::uint32_t at = 0; at + 40 < 2048; at += 41)
      fs.free(group, at, static_cast<std::uint32_t>(rng.between(1, 40)));
  const std::array<std::uint32_t, 3> blocks = {4, 16, 64};
  const AlignedFree free = source_free(fs.source(), 0).space.aligned;
  EXPECT_GT(free.pieces[1], 100u);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    allocator::Tunables tunables = allocator::defaults_for(fs.geometry());
    tunables.extsize = blocks[i];
    test::Rig rig("forcealign", fs, tunables);
    test::load_all(rig.state);
    std::uint64_t served = 0;
    allocator::Request request = test::data_request(20, blocks[i], blocks[i] * 4096ull);
    request.open_for_write = false;
    while (rig.allocator.allocate(request).success) {
      request.ino++;
      ++served;
    }
    EXPECT_EQ(served, free.pieces[i]) << blocks[i];
  }
}

}  // namespace
}  // namespace e4r::stats
