// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/layout.h"

#include <algorithm>
#include <bit>

namespace e4r::image {
namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};

// Mask of bits [low, high) of a word, 0 <= low < high <= 64.
std::uint64_t mask(unsigned low, unsigned high) {
  return (kAll << low) & (kAll >> (64 - high));
}

// Calls visit(word index, mask) for each word that [first, first + count) touches, until it returns
// false. Returns whether it never did.
template <class Visit>
bool each_word(std::uint64_t first, std::uint64_t count, Visit visit) {
  for (std::uint64_t bit = first, end = first + count; bit < end;) {
    const std::uint64_t word = bit / 64;
    const std::uint64_t stop = std::min(end, (word + 1) * 64);
    if (!visit(word,
               mask(static_cast<unsigned>(bit % 64), static_cast<unsigned>(stop - word * 64))))
      return false;
    bit = stop;
  }
  return true;
}

void sort_and_merge(std::vector<BlockRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const BlockRange& a, const BlockRange& b) { return a.first < b.first; });
  std::size_t kept = 0;
  for (const BlockRange& range : ranges) {
    if (kept > 0 && range.first <= ranges[kept - 1].end()) {
      BlockRange& last = ranges[kept - 1];
      last.count = std::max(last.end(), range.end()) - last.first;
    } else {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
}

}  // namespace

ClusterRange clusters_in_group(const Geometry& geometry, GroupNumber group,
                               const BlockRange& blocks) {
  const Block start = geometry.first_block(group);
  const Block first = std::max(blocks.first, start);
  const Block end = std::min(blocks.end(), start + geometry.blocks_in(group));
  if (first >= end) return {};
  const std::uint32_t from = geometry.cluster_in_group(first);
  return {from, geometry.cluster_in_group(end - 1) + 1 - from};
}

std::uint64_t set_bits(std::span<std::uint64_t> words, std::uint64_t first, std::uint64_t count) {
  std::uint64_t clear = 0;
  each_word(first, count, [&](std::uint64_t word, std::uint64_t bits) {
    clear += static_cast<std::uint64_t>(std::popcount(bits & ~words[word]));
    words[word] |= bits;
    return true;
  });
  return clear;
}

bool all_set(std::span<const std::uint64_t> words, std::uint64_t first, std::uint64_t count) {
  return each_word(first, count, [words](std::uint64_t word, std::uint64_t bits) {
    return (words[word] & bits) == bits;
  });
}

bool Layout::has_descriptor_copy_of_meta_bg(GroupNumber group) const {
  const std::uint32_t per_block = geo_.block_size() / geo_.desc_size;
  const std::uint32_t place = group % per_block;
  return place == 0 || place == 1 || place == per_block - 1;
}

std::uint64_t Layout::base_blocks(GroupNumber group) const {
  const std::uint64_t super = ext2fs_bg_has_super(fs_, group) ? 1 : 0;
  const std::uint64_t per_block = geo_.block_size() / geo_.desc_size;
  if (geo_.features.meta_bg && group >= geo_.first_meta_bg * per_block)
    return super + (has_descriptor_copy_of_meta_bg(group) ? 1 : 0);
  if (super == 0) return 0;
  const std::uint64_t descriptors = geo_.features.meta_bg ? geo_.first_meta_bg : geo_.desc_blocks;
  return super + descriptors + geo_.reserved_gdt_blocks;
}

void Layout::init_bitmap(GroupNumber group, std::span<std::uint64_t> words) const {
  std::fill(words.begin(), words.end(), 0);
  const GroupInfo& info = groups_[group];
  for (const BlockRange& blocks :
       {BlockRange{info.first_block, base_blocks(group)}, BlockRange{info.block_bitmap, 1},
        BlockRange{info.inode_bitmap, 1},
        BlockRange{info.inode_table, geo_.itable_blocks_per_group}}) {
    const ClusterRange bits = clusters_in_group(geo_, group, blocks);
    set_bits(words, bits.first, bits.count);
  }
  set_bits(words, info.clusters, words.size() * 64 - info.clusters);
}

bool Layout::metadata_in_use(GroupNumber group, std::span<const std::uint64_t> words) const {
  const GroupInfo& info = groups_[group];
  for (const BlockRange& blocks :
       {BlockRange{info.block_bitmap, 1}, BlockRange{info.inode_bitmap, 1},
        BlockRange{info.inode_table, geo_.itable_blocks_per_group}}) {
    const ClusterRange bits = clusters_in_group(geo_, group, blocks);
    if (bits.count == 0 || !all_set(words, bits.first, bits.count)) return false;
  }
  return true;
}

void Layout::collect(GroupNumber group, std::vector<BlockRange>& out) const {
  const GroupInfo& info = groups_[group];
  const auto add = [&](Block first, std::uint64_t count) {
    if (count == 0 || first < geo_.first_data_block || first >= geo_.blocks_count) return;
    out.push_back({first, std::min(count, geo_.blocks_count - first)});
  };
  // With bigalloc and 1 KiB blocks, the boot block is part of group 0, before the superblock.
  const bool boot = group == 0 && geo_.block_size() == 1024 && geo_.first_data_block == 0;
  add(info.first_block, base_blocks(group) + (boot ? 1 : 0));
  if (!info.has_places()) return;
  add(info.block_bitmap, info.block_bitmap != 0 ? 1 : 0);
  add(info.inode_bitmap, info.inode_bitmap != 0 ? 1 : 0);
  add(info.inode_table, info.inode_table != 0 ? geo_.itable_blocks_per_group : 0);
}

std::vector<BlockRange> Layout::ranges() const {
  std::vector<BlockRange> out;
  for (GroupNumber group = 0; group < geo_.groups; ++group) collect(group, out);
  sort_and_merge(out);
  return out;
}

std::vector<BlockRange> Layout::bookkeeping() const {
  std::vector<BlockRange> out;
  const auto add = [&](Block block) {
    if (block < geo_.blocks_count) out.push_back({block, 1});
  };
  const Block super = geo_.block_size() == 1024 ? 1 : 0;
  add(super);
  // The descriptors follow the superblock. libext2fs computes their place from the first data
  // block, which with bigalloc and 1 KiB blocks is one block before the superblock. There its
  // answer is one block short, except for descriptor block 0.
  const bool meta_bg = ext2fs_has_feature_meta_bg(fs_->super) != 0;
  const std::uint32_t together = meta_bg ? fs_->super->s_first_meta_bg : geo_.desc_blocks;
  for (std::uint32_t i = 0; i < geo_.desc_blocks; ++i)
    add(i < together ? super + 1 + i : ext2fs_descriptor_block_loc2(fs_, geo_.first_data_block, i));
  for (const GroupInfo& info : groups_) {
    if (!info.block_uninit && info.block_bitmap != 0) add(info.block_bitmap);
    if (!info.inode_uninit && info.inode_bitmap != 0) add(info.inode_bitmap);
  }
  sort_and_merge(out);
  return out;
}

}  // namespace e4r::image
