// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/bitmap_reader.h"

#include <algorithm>
#include <cstring>

#include "util/crc32c.h"
#include "util/little_endian.h"

namespace e4r::image {
namespace {

// The size of a run of bitmap blocks; fits a second-level cache.
constexpr std::size_t kRunBytes = 256u << 10;

// Whether every bit from `first` to the end of the block is set.
bool padded(std::span<const std::byte> raw, std::uint32_t first) {
  const std::size_t byte = first / 8;
  if (byte >= raw.size()) return true;
  const auto wanted = static_cast<std::byte>(0xff << (first % 8));
  if ((raw[byte] & wanted) != wanted) return false;
  return std::all_of(raw.begin() + static_cast<std::ptrdiff_t>(byte) + 1, raw.end(),
                     [](std::byte b) { return b == std::byte{0xff}; });
}

bool checksum_ok(ext2_filsys fs, GroupNumber group, std::uint32_t computed) {
  const auto* desc =
      reinterpret_cast<const ext4_group_desc*>(ext2fs_group_desc(fs, fs->group_desc, group));
  if (EXT2_DESC_SIZE(fs->super) < EXT4_BG_BLOCK_BITMAP_CSUM_HI_LOCATION)
    return (computed & 0xffff) == desc->bg_block_bitmap_csum_lo;
  return computed ==
         (std::uint32_t{desc->bg_block_bitmap_csum_hi} << 16 | desc->bg_block_bitmap_csum_lo);
}

}  // namespace

BitmapReader::BitmapReader(const Source& source)
    : source_(source), words_(source.superblock.words_per_group()) {
  const std::size_t block = source.superblock.block_size();
  const std::size_t blocks = std::max<std::size_t>(1, kRunBytes / block);
  buffer_.resize(std::min<std::size_t>(blocks, source.superblock.groups) * block);
}

std::span<std::byte> BitmapReader::slot(std::size_t index, std::size_t count) {
  const std::size_t block = source_.superblock.block_size();
  return std::span(buffer_).subspan(index * block, count * block);
}

bool BitmapReader::on_disk(GroupNumber group) const {
  const GroupInfo& info = source_.groups[group];
  return !info.bad() && !info.block_uninit;
}

// The end of a run of groups from `first` on whose bitmaps are adjacent. The run may contain
// uninitialised groups: reading a gap is cheaper than a second read.
GroupNumber BitmapReader::end_of_run(GroupNumber first, GroupNumber last) const {
  const std::size_t most = buffer_.size() / source_.superblock.block_size();
  const Block start = source_.groups[first].block_bitmap;
  GroupNumber end = first + 1;
  for (GroupNumber g = end; g < last && g - first < most; ++g) {
    const GroupInfo& info = source_.groups[g];
    if (info.bad() || info.block_bitmap != start + (g - first)) break;
    if (!info.block_uninit) end = g + 1;
  }
  return end;
}

void BitmapReader::fetch(GroupNumber first, GroupNumber end) {
  const std::size_t block = source_.superblock.block_size();
  const std::uint64_t offset = source_.groups[first].block_bitmap * block;
  const std::size_t count = end - first;
  readable_.assign(count, true);
  if (source_.file.read(offset, slot(0, count)).ok()) return;
  for (std::size_t i = 0; i < count; ++i)
    readable_[i] = source_.file.read(offset + i * block, slot(i)).ok();
}

GroupFault BitmapReader::decode(GroupNumber group, std::span<const std::byte> raw) {
  const SuperblockInfo& geo = source_.superblock;
  const std::uint32_t clusters = source_.groups[group].clusters;
  const std::size_t bytes = geo.clusters_per_group / 8;
  if (geo.features.metadata_csum &&
      !checksum_ok(source_.fs, group, crc32c(source_.fs->csum_seed, raw.first(bytes))))
    return GroupFault::bitmap_checksum;
  words_.back() = 0;
  std::memcpy(words_.data(), raw.data(), bytes);
  for (std::uint64_t& word : words_) word = from_le(word);
  if (!geo.features.flex_bg && !source_.layout.metadata_in_use(group, words_))
    return GroupFault::bitmap_metadata;
  if (!padded(raw, clusters)) return GroupFault::bitmap_padding;
  set_bits(words_, clusters, words_.size() * 64 - clusters);
  return GroupFault::none;
}

void BitmapReader::load(GroupNumber group, GroupNumber run_first) {
  GroupInfo& info = source_.groups[group];
  if (on_disk(group)) {
    const std::size_t at = group - run_first;
    info.fault = readable_[at] ? decode(group, slot(at)) : GroupFault::bitmap_read;
  } else if (!info.bad()) {
    source_.layout.init_bitmap(group, words_);
  }
  if (info.bad()) std::fill(words_.begin(), words_.end(), ~std::uint64_t{0});
}

void BitmapReader::read(GroupNumber first, GroupNumber last, const Visit& visit) {
  GroupNumber run_first = first;
  GroupNumber run_end = first;
  for (GroupNumber group = first; group < last; ++group) {
    if (group >= run_end && on_disk(group)) {
      run_first = group;
      run_end = end_of_run(group, last);
      fetch(run_first, run_end);
    }
    load(group, run_first);
    visit(group, words_);
  }
}

}  // namespace e4r::image
