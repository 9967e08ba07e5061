// SPDX-License-Identifier: GPL-2.0-or-later
// Compares FileLayout and Translation with plain maps of single blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <vector>

#include "replay/file_shifts.h"
#include "replay/translation.h"
#include "util/rng.h"

namespace e4r::replay {
namespace {

using Plain = std::map<std::uint64_t, std::uint64_t>;  // file block -> device block

std::vector<std::uint64_t> blocks_of(const std::vector<BlockRange>& ranges) {
  std::vector<std::uint64_t> out;
  for (const BlockRange& r : ranges)
    for (Block block = r.first; block < r.end(); ++block) out.push_back(block);
  return out;
}

// Expects that the extents contain exactly the blocks of the plain map, in order, and that no two
// extents could be merged.
void expect_same(const FileLayout& layout, const Plain& plain) {
  Plain mine;
  const FileExtent* before = nullptr;
  for (const FileExtent& e : layout.extents()) {
    ASSERT_GT(e.len, 0u);
    if (before != nullptr) {
      ASSERT_LE(before->end(), e.logical);
      ASSERT_FALSE(before->end() == e.logical && before->block + before->len == e.block)
          << "not merged at " << e.logical;
    }
    for (std::uint64_t i = 0; i < e.len; ++i) mine[e.logical + i] = e.block + i;
    before = &e;
  }
  ASSERT_EQ(mine, plain);
}

// Removes a range of the file, or inserts one. Returns the device blocks that a removed range had.
std::vector<std::uint64_t> shift(Plain& plain, const FileShift& by) {
  std::vector<std::uint64_t> removed;
  Plain moved;
  for (const auto& [logical, block] : plain) {
    if (logical < by.at)
      moved[logical] = block;
    else if (by.inserts)
      moved[logical + by.count] = block;
    else if (logical < by.at + by.count)
      removed.push_back(block);
    else
      moved[logical - by.count] = block;
  }
  plain = moved;
  return removed;
}

void expect_same_lookups(const FileLayout& layout, const Plain& plain, std::uint64_t at) {
  const FileExtent* found = layout.find(at);
  const auto here = plain.find(at);
  ASSERT_EQ(found != nullptr, here != plain.end()) << at;
  if (found != nullptr) {
    ASSERT_EQ(found->block + (at - found->logical), here->second);
    return;
  }
  const auto above = plain.lower_bound(at);
  const FileExtent* right = layout.right_of(at);
  ASSERT_EQ(right != nullptr, above != plain.end()) << at;
  if (right != nullptr) {
    ASSERT_EQ(right->logical, above->first);
    ASSERT_EQ(right->block, above->second);
  }
  const FileExtent* left = layout.left_of(at);
  ASSERT_EQ(left != nullptr, above != plain.begin()) << at;
  if (left != nullptr) {
    ASSERT_EQ(left->end() - 1, std::prev(above)->first);
    ASSERT_EQ(left->block + left->len - 1, std::prev(above)->second);
  }
}

TEST(FileLayout, RandomMapsAndUnmapsMatchAPlainMap) {
  Rng rng(5);
  FileLayout layout;
  Plain plain;
  std::uint64_t next = 1000;
  for (int step = 0; step < 4000; ++step) {
    const std::uint64_t at = rng.below(300);
    const std::uint64_t len = rng.between(1, 20);
    if (rng.chance(1, 20)) {
      const FileShift by = {at, len, rng.chance(1, 2)};
      std::vector<BlockRange> out;
      layout.shift(by, out);
      ASSERT_EQ(blocks_of(out), shift(plain, by));
    } else if (rng.chance(3, 5)) {
      // Sometimes the block continues the previous one, so that extents merge.
      const auto left = plain.find(at - 1);
      const std::uint64_t block =
          left != plain.end() && rng.chance(1, 2) ? left->second + 1 : next += 50;
      layout.map({at, block, len});
      for (std::uint64_t i = 0; i < len; ++i) plain[at + i] = block + i;
    } else {
      std::vector<BlockRange> out;
      layout.unmap(at, len, out);
      std::vector<std::uint64_t> expected;
      for (auto it = plain.lower_bound(at); it != plain.end() && it->first < at + len;
           it = plain.erase(it))
        expected.push_back(it->second);
      ASSERT_EQ(blocks_of(out), expected);
    }
    ASSERT_NO_FATAL_FAILURE(expect_same(layout, plain)) << step;
    ASSERT_NO_FATAL_FAILURE(expect_same_lookups(layout, plain, rng.below(330))) << step;
  }
}

TEST(FileLayout, MergesOnBothSides) {
  FileLayout layout;
  layout.map({0, 100, 4});
  layout.map({8, 108, 4});
  EXPECT_EQ(layout.extents().size(), 2u);
  layout.map({4, 104, 4});
  ASSERT_EQ(layout.extents().size(), 1u);
  EXPECT_EQ(layout.extents()[0], (FileExtent{0, 100, 12}));
  layout.map({12, 500, 1});
  EXPECT_EQ(layout.extents().size(), 2u);
}

TEST(FileLayout, DoesNotGrowBeyondTheLastFileBlock) {
  FileLayout layout;
  layout.map({10, 100, 4});
  std::vector<BlockRange> out;
  layout.shift({2, kMaxFileBlocks - 14, true}, out);
  ASSERT_EQ(layout.extents()[0], (FileExtent{kMaxFileBlocks - 4, 100, 4}));
  layout.shift({2, 1, true}, out);
  EXPECT_EQ(layout.extents()[0], (FileExtent{kMaxFileBlocks - 4, 100, 4}));
}

TEST(FileLayout, UnmappingTheMiddleSplits) {
  FileLayout layout;
  layout.map({0, 100, 10});
  std::vector<BlockRange> out;
  layout.unmap(3, 4, out);
  EXPECT_EQ(out, (std::vector<BlockRange>{{103, 4}}));
  ASSERT_EQ(layout.extents().size(), 2u);
  EXPECT_EQ(layout.extents()[1], (FileExtent{7, 107, 3}));
  out.clear();
  layout.unmap(0, 100, out);
  EXPECT_EQ(out, (std::vector<BlockRange>{{100, 3}, {107, 3}}));
  EXPECT_TRUE(layout.extents().empty());
}

// A recorded device of 600 blocks. It has the owner of each block, and the block's place in the
// replay.
struct PlainTranslation {
  struct Owner {
    std::uint64_t ino;  // 0: metadata
    std::uint64_t place;
  };
  const FileWriters& writers;
  using Block = std::pair<std::uint64_t, std::uint64_t>;  // numbers of the writer and of the block
  std::map<Block, Owner> recorded;
  std::map<std::uint64_t, Plain> files;

  [[nodiscard]] std::uint64_t find(std::uint64_t of, std::uint64_t block) const {
    const auto it = recorded.find({writers.of(of), block});
    if (it == recorded.end()) return block;
    if (it->second.ino == 0) return it->second.place;
    const auto file = files.find(it->second.ino);
    if (file == files.end()) return 0;
    const auto mapped = file->second.find(it->second.place);
    return mapped == file->second.end() ? 0 : mapped->second;
  }
  // Frees the block. Returns the block to free in the replay, or 0 if the block has no place there.
  std::uint64_t free(std::uint64_t of, std::uint64_t block) {
    const std::uint64_t here = find(of, block);
    const auto it = recorded.find({writers.of(of), block});
    if (it == recorded.end()) return block;
    if (it->second.ino != 0) files[it->second.ino].erase(it->second.place);
    recorded.erase(it);
    return here;
  }
  // Frees the recorded blocks whose owner fits, and calls each(block) for them.
  template <class Fits, class Each>
  void free_if(const Fits& fits, const Each& each) {
    std::erase_if(recorded, [&](const auto& one) {
      const auto& [block, owner] = one;
      if (!fits(owner)) return false;
      files[owner.ino].erase(owner.place);
      each(block.second);
      return true;
    });
  }
  // Removes an empty range of the file, or inserts one.
  void shift_file(std::uint64_t ino, const FileShift& by) {
    const auto file = files.find(ino);
    if (file == files.end()) return;
    for (auto& [block, owner] : recorded)
      if (owner.ino == ino) owner.place = *by.move(owner.place);
    shift(file->second, by);
  }
  [[nodiscard]] bool unused(std::uint64_t of, std::uint64_t block, std::uint64_t len) const {
    const auto it = recorded.lower_bound({writers.of(of), block});
    return it == recorded.end() || it->first >= Block{writers.of(of), block + len};
  }
};

class TranslationOf : public testing::TestWithParam<unsigned> {};

// Makes a random mix of data, metadata with and without a place in the replay, frees that span
// several owners, ranges removed from files and inserted, and deleted files. If there are several
// writers, each has its own recorded blocks.
TEST_P(TranslationOf, RandomHistoryMatchesAPlainMap) {
  Rng rng(17);
  const auto writers = std::make_shared<FileWriters>(GetParam());
  for (std::uint64_t ino = 1; ino <= 4; ++ino) writers->add(ino);
  Translation translation(writers);
  PlainTranslation plain{*writers, {}, {}};
  std::map<std::uint64_t, std::uint64_t> end_of_file;
  std::uint64_t next = 10000;
  for (int step = 0; step < 6000; ++step) {
    const std::uint64_t block = rng.between(1, 600);
    const std::uint64_t len = rng.between(1, 12);
    const std::uint64_t ino = rng.between(1, 4);
    const std::uint64_t dice = rng.below(11);
    next += 40;
    if (dice < 5) {
      if (!plain.unused(ino, block, len)) continue;
      const std::uint64_t logical = end_of_file[ino];
      end_of_file[ino] += len + rng.below(2);
      translation.recorded_data(ino, logical, block, len);
      const std::uint64_t mapped =
          rng.chance(1, 6) ? rng.below(len) : len;  // sometimes only a part is mapped
      translation.file(ino).map({logical, next, mapped});
      for (std::uint64_t i = 0; i < len; ++i)
        plain.recorded[{writers->of(ino), block + i}] = {ino, logical + i};
      Plain& file = plain.files[ino];
      for (std::uint64_t i = 0; i < mapped; ++i) file[logical + i] = next + i;
    } else if (dice < 7) {
      if (!plain.unused(ino, block, len)) continue;
      const bool placed = rng.chance(2, 3);
      translation.recorded_metadata(ino, block, placed ? next : 0, len);
      for (std::uint64_t i = 0; i < len; ++i)
        plain.recorded[{writers->of(ino), block + i}] = {0, placed ? next + i : 0};
    } else if (dice < 9) {
      std::vector<BlockRange> out;
      translation.free(ino, {block, len}, out);
      std::vector<std::uint64_t> expected;
      for (std::uint64_t i = 0; i < len; ++i)
        if (const std::uint64_t here = plain.free(ino, block + i); here != 0)
          expected.push_back(here);
      ASSERT_EQ(blocks_of(out), expected) << "step " << step;
      for (std::size_t i = 1; i < out.size(); ++i)
        ASSERT_NE(out[i - 1].end(), out[i].first) << "not joined";
    } else if (dice == 9) {
      std::uint64_t& end = end_of_file[ino];
      const FileShift by = {rng.below(end + 5), len, rng.chance(1, 2)};
      const auto is_removed = [&](const PlainTranslation::Owner& owner) {
        return owner.ino == ino && !by.move(owner.place);
      };
      std::vector<BlockRange> out;
      translation.announce_shift(ino, by, out);
      plain.free_if(is_removed, [&](std::uint64_t one) { translation.free(ino, {one, 1}, out); });
      out.clear();
      translation.settle_shifts(ino, UINT64_MAX, {}, {}, out);
      ASSERT_TRUE(out.empty());
      plain.shift_file(ino, by);
      if (by.inserts && end > by.at)
        end += by.count;
      else if (end > by.at)
        end = std::max(by.at, end - std::min(end, by.count));
    } else if (rng.chance(1, 10)) {
      const auto is_of_file = [&](const PlainTranslation::Owner& owner) {
        return owner.ino == ino;
      };
      std::vector<BlockRange> out;
      plain.free_if(is_of_file, [&](std::uint64_t one) { translation.free(ino, {one, 1}, out); });
      out.clear();
      translation.forget(ino, out);
      std::vector<std::uint64_t> expected;
      for (const auto& [logical, here] : plain.files[ino]) expected.push_back(here);
      ASSERT_EQ(blocks_of(out), expected);
      plain.files.erase(ino);
    }
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t probe = rng.between(1, 620);
      ASSERT_EQ(translation.find(ino, probe), plain.find(ino, probe))
          << "step " << step << " " << probe;
    }
  }
}

TEST(FileWriters, EachRoundGivesEveryWriterOneFile) {
  for (const unsigned writers : {1u, 2u, 5u, 64u}) {
    FileWriters assigned(writers);
    std::vector<unsigned> first_of_round(writers, 0);
    for (std::uint64_t round = 0; round < 200; ++round) {
      std::vector<bool> seen(writers, false);
      for (std::uint64_t i = 0; i < writers; ++i) {
        const std::uint64_t ino = 12 + round * writers + i;
        assigned.add(ino);
        assigned.add(12);  // is assigned already
        const unsigned writer = assigned.of(ino);
        ASSERT_LT(writer, writers);
        EXPECT_FALSE(seen[writer]) << writers << " writers, round " << round;
        seen[writer] = true;
        if (i == 0) ++first_of_round[writer];
      }
    }
    EXPECT_EQ(assigned.of(13), 1 % writers) << "the first round is in order";
    // Rounds must begin with different writers. Otherwise the inode numbers of each writer would
    // all have the same remainder.
    for (const unsigned count : first_of_round) EXPECT_LT(count, 200 / writers + 40) << writers;
  }
}

INSTANTIATE_TEST_SUITE_P(Writers, TranslationOf, testing::Values(1u, 3u));

TEST_P(TranslationOf, AnUnknownBlockIsItself) {
  Translation translation(std::make_shared<FileWriters>(GetParam()));
  // A trace may name blocks far beyond the device.
  for (const std::uint64_t block : {std::uint64_t{77}, std::uint64_t{3} << 48, UINT64_MAX})
    EXPECT_EQ(translation.find(2, block), block);
  std::vector<BlockRange> out;
  translation.free(2, {70, 10}, out);
  EXPECT_EQ(out, (std::vector<BlockRange>{{70, 10}}));
}

TEST(Translation, MetadataWithoutAPlaceIsNowhere) {
  Translation translation;
  translation.recorded_metadata(1, 50, 0, 4);
  for (std::uint64_t block = 50; block < 54; ++block) EXPECT_EQ(translation.find(1, block), 0u);
  std::vector<BlockRange> out;
  translation.free(1, {51, 1}, out);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(translation.find(1, 52), 0u);
}

}  // namespace
}  // namespace e4r::replay
