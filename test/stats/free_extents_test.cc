// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/free_extents.h"

#include <gtest/gtest.h>

#include <vector>

#include "util/rng.h"

namespace e4r::stats {
namespace {

using Bits = std::vector<bool>;  // true: in use

// Counts the free extents one block at a time, as a reference.
FreeExtents one_by_one(const Bits& used, const BlockSpace& space, std::uint32_t chunk_bits) {
  FreeExtents all;
  all.chunk_bits = chunk_bits;
  std::vector<bool> free(space.blocks_count, false);
  for (std::uint64_t block = space.first_block; block < space.blocks_count; ++block)
    free[block] = !used[(block - space.first_block) >> space.cluster_bits];
  std::uint64_t run = 0;
  for (std::uint64_t block = 0; block <= free.size(); ++block) {
    if (block < free.size() && free[block]) {
      ++run;
    } else if (run > 0) {
      std::size_t bucket = 1;
      while (run >> bucket != 0) ++bucket;
      ++all.buckets[bucket].extents;
      all.buckets[bucket].blocks += run;
      all.min = all.count == 0 ? run : std::min(all.min, run);
      all.max = std::max(all.max, run);
      ++all.count;
      all.blocks += run;
      run = 0;
    }
  }
  const std::uint64_t chunk = std::uint64_t{1} << chunk_bits;
  for (std::uint64_t at = 0; at + chunk <= free.size(); at += chunk)
    all.free_chunks +=
        std::count(free.begin() + static_cast<std::ptrdiff_t>(at),
                   free.begin() + static_cast<std::ptrdiff_t>(at + chunk), false) == 0;
  return all;
}

std::vector<std::uint64_t> pack(const Bits& used, std::size_t from, std::size_t count,
                                bool padding) {
  std::vector<std::uint64_t> words((count + 63) / 64, padding ? ~0ull : 0);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bit = 1ull << (i % 64);
    words[i / 64] = used[from + i] ? words[i / 64] | bit : words[i / 64] & ~bit;
  }
  return words;
}

Bits random_bits(Rng& rng, std::size_t count) {
  Bits used(count);
  const std::uint64_t longest = rng.between(1, 300);
  bool state = rng.chance(1, 2);
  for (std::size_t i = 0; i < count; state = !state)
    for (std::uint64_t run = rng.between(1, longest); run > 0 && i < count; --run)
      used[i++] = state;
  return used;
}

void expect_same(const FreeExtents& got, const FreeExtents& want) {
  EXPECT_EQ(got.count, want.count);
  EXPECT_EQ(got.blocks, want.blocks);
  EXPECT_EQ(got.min, want.min);
  EXPECT_EQ(got.max, want.max);
  EXPECT_EQ(got.free_chunks, want.free_chunks);
  EXPECT_EQ(got.buckets, want.buckets);
}

TEST(FreeExtents, RandomBitmapsInGroupsAgreeWithOneByOne) {
  constexpr std::uint64_t kSeed = 20240817;
  Rng rng(kSeed);
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << " round " << round);
    const std::size_t clusters = rng.between(1, 3000);
    const Bits used = random_bits(rng, clusters);
    BlockSpace space;
    space.cluster_bits = rng.chance(1, 2) ? 0 : static_cast<std::uint32_t>(rng.below(5));
    space.first_block = space.cluster_bits == 0 ? rng.below(2) : 0;
    space.blocks_count =
        space.first_block + (clusters << space.cluster_bits) - rng.below(1u << space.cluster_bits);
    const auto chunk_bits = static_cast<std::uint32_t>(rng.below(9));
    const std::size_t group = rng.between(1, 700);
    FreeExtentScan scan(space, chunk_bits);
    for (std::size_t at = 0; at < clusters; at += group) {
      const std::size_t count = std::min(group, clusters - at);
      scan.add(pack(used, at, count, rng.chance(1, 2)), count);
    }
    expect_same(scan.finish(), one_by_one(used, space, chunk_bits));
  }
}

TEST(FreeExtents, PartsAppendedAgreeWithTheWhole) {
  constexpr std::uint64_t kSeed = 4711;
  Rng rng(kSeed);
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << " round " << round);
    const std::size_t clusters = rng.between(1, 2000);
    const Bits used = random_bits(rng, clusters);
    const BlockSpace space = {0, clusters, 0};
    FreeExtentScan whole(space, 3);
    for (std::size_t at = 0; at < clusters;) {
      FreeExtentScan part(space, 3, at);
      for (std::uint64_t adds = rng.below(3); adds > 0 && at < clusters; --adds) {
        const std::size_t count = rng.between(1, std::min<std::size_t>(500, clusters - at));
        part.add(pack(used, at, count, true), count);
        at += count;
      }
      whole.append(part);
    }
    expect_same(whole.finish(), one_by_one(used, space, 3));
  }
}

TEST(FreeExtents, AllFreeAllUsedAndNothing) {
  const BlockSpace space = {0, 4096, 0};
  const std::vector<std::uint64_t> zeros(64, 0);
  const std::vector<std::uint64_t> ones(64, ~0ull);
  FreeExtentScan empty(space, 8);
  EXPECT_EQ(empty.finish(), FreeExtents{.chunk_bits = 8});
  FreeExtentScan used(space, 8);
  used.add(ones, 4096);
  EXPECT_EQ(used.finish(), FreeExtents{.chunk_bits = 8});
  FreeExtentScan free(space, 8);
  free.add(zeros, 4096);
  const FreeExtents all = free.finish();
  EXPECT_EQ(all.count, 1u);
  EXPECT_EQ(all.min, 4096u);
  EXPECT_EQ(all.max, 4096u);
  EXPECT_EQ(all.free_chunks, 16u);
  EXPECT_EQ(all.buckets[13].blocks, 4096u);
}

TEST(FreeExtents, LastBucketTakesAllThatIsLonger) {
  FreeExtents extents;
  extents.add(0, std::uint64_t{1} << 30);
  extents.add(std::uint64_t{1} << 40, std::uint64_t{1} << 36);
  EXPECT_EQ(extents.buckets[31].extents, 2u);
  EXPECT_EQ(extents.average(), ((std::uint64_t{1} << 30) + (std::uint64_t{1} << 36)) / 2);
}

TEST(FreeExtents, MergeKeepsTheSmallestOfBoth) {
  FreeExtents a;
  FreeExtents b;
  a.merge(b);
  EXPECT_EQ(a.min, 0u);
  b.add(10, 5);
  a.merge(b);
  EXPECT_EQ(a.min, 5u);
  b.add(20, 3);
  a.merge(b);
  EXPECT_EQ(a.min, 3u);
  EXPECT_EQ(a.count, 3u);
}

}  // namespace
}  // namespace e4r::stats
