// SPDX-License-Identifier: GPL-2.0-or-later
#include "support/ext2_images.h"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "support/ext2_handle.h"
#include "support/process.h"
#include "util/rng.h"

namespace e4r::test {
namespace {

Ext2Handle open_with_tree(const std::string& path, int flags) {
  Ext2Handle fs = open_ext2(path, flags);
  fs->default_bitmap_type = EXT2FS_BMAP64_RBTREE;
  return fs;
}

void save(Ext2Handle fs) {
  ext2fs_mark_super_dirty(fs.get());
  must(ext2fs_flush(fs.get()), "flush");
}

std::uint32_t group_clusters(ext2_filsys fs, dgrp_t group) {
  const int ratio = 1 << fs->cluster_ratio_bits;
  return static_cast<std::uint32_t>((ext2fs_group_blocks_count(fs, group) + ratio - 1) / ratio);
}

// Returns the group's bitmap block, padded with ones.
std::vector<unsigned char> bitmap_block(ext2_filsys fs, dgrp_t group) {
  const std::uint32_t clusters = group_clusters(fs, group);
  std::vector<unsigned char> bytes(fs->blocksize, 0xff);
  const blk64_t first = (fs->super->s_first_data_block >> fs->cluster_ratio_bits) +
                        std::uint64_t{group} * fs->super->s_clusters_per_group;
  std::vector<unsigned char> got(clusters / 8 + 1);
  must(ext2fs_get_block_bitmap_range2(fs->block_map, first, clusters, got.data()), "bitmap range");
  std::memcpy(bytes.data(), got.data(), clusters / 8);
  if (clusters % 8 != 0)
    bytes[clusters / 8] = static_cast<unsigned char>(got[clusters / 8] | 0xff << (clusters % 8));
  return bytes;
}

// Draws the runs of a Fill. Each call of used() returns whether the next cluster is used.
class Pattern {
 public:
  explicit Pattern(const Fill& fill) : fill_(fill), rng_(fill.seed) {}

  bool used() {
    if (fill_.max_free == 0) return true;
    if (left_ == 0) {
      free_ = !free_;
      left_ = free_ ? rng_.between(fill_.min_free, fill_.max_free)
                    : rng_.between(fill_.min_used, fill_.max_used);
    }
    --left_;
    return !free_;
  }

  bool skip_group() { return fill_.skip_percent != 0 && rng_.chance(fill_.skip_percent, 100); }

 private:
  Fill fill_;
  Rng rng_;
  bool free_ = false;
  std::uint64_t left_ = 0;
};

// Writes the group's bitmap and descriptor. Returns how many clusters are free.
std::uint32_t store(ext2_filsys fs, dgrp_t group, std::vector<unsigned char>& bytes) {
  std::uint32_t used = 0;
  for (const unsigned char byte : bytes) used += static_cast<std::uint32_t>(std::popcount(byte));
  const std::uint32_t free = fs->blocksize * 8 - used;
  auto* raw = reinterpret_cast<char*>(bytes.data());
  must(io_channel_write_blk64(fs->io, ext2fs_block_bitmap_loc(fs, group), 1, raw), "write bitmap");
  ext2fs_bg_flags_clear(fs, group, EXT2_BG_BLOCK_UNINIT);
  ext2fs_bg_free_blocks_count_set(fs, group, free);
  must(ext2fs_block_bitmap_csum_set(fs, group, raw,
                                    static_cast<int>(fs->super->s_clusters_per_group / 8)),
       "bitmap checksum");
  ext2fs_group_desc_csum_set(fs, group);
  return free;
}

void apply(Pattern& pattern, std::vector<unsigned char>& bytes, std::uint32_t clusters,
           std::uint32_t most_free) {
  std::uint32_t free = 0;
  for (std::uint32_t bit = 0; bit < clusters; ++bit) {
    const auto mask = static_cast<unsigned char>(1u << (bit % 8));
    if (pattern.used() || free == most_free) bytes[bit / 8] |= mask;
    if ((bytes[bit / 8] & mask) == 0) ++free;
  }
}

}  // namespace

void make_image(const std::string& path, std::uint64_t bytes,
                const std::vector<std::string>& mke2fs_options) {
  ::unlink(path.c_str());
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool sized = fd >= 0 && ::ftruncate(fd, static_cast<off_t>(bytes)) == 0;
  if (fd >= 0) ::close(fd);
  if (!sized) throw std::runtime_error("cannot make " + path);
  std::vector<std::string> argv = {"mke2fs",
                                   "-q",
                                   "-F",
                                   "-U",
                                   "6a1c9e37-5f0d-4b7e-9a55-c0ffee4e4e4e",
                                   "-E",
                                   "hash_seed=0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0,nodiscard"};
  argv.insert(argv.end(), mke2fs_options.begin(), mke2fs_options.end());
  argv.push_back(path);
  const Outcome made = run(argv);
  if (made.status != 0) throw std::runtime_error("mke2fs: " + made.err);
}

void fill_image(const std::string& path, const Fill& fill) {
  Ext2Handle fs = open_with_tree(path, EXT2_FLAG_RW);
  must(ext2fs_read_block_bitmap(fs.get()), "read bitmaps");
  Pattern pattern(fill);
  blk64_t free = 0;
  for (dgrp_t group = 0; group < fs->group_desc_count; ++group) {
    const std::uint32_t clusters = group_clusters(fs.get(), group);
    if (pattern.skip_group()) {
      free += ext2fs_bg_free_blocks_count(fs.get(), group);
      continue;
    }
    std::vector<unsigned char> bytes = bitmap_block(fs.get(), group);
    apply(pattern, bytes, clusters, fill.most_free);
    free += store(fs.get(), group, bytes);
  }
  ext2fs_free_blocks_count_set(fs->super, free << fs->cluster_ratio_bits);
  save(std::move(fs));
}

std::vector<std::vector<std::uint64_t>> reference_bitmaps(const std::string& path) {
  const Ext2Handle fs = open_with_tree(path, 0);
  must(ext2fs_read_block_bitmap(fs.get()), path);
  std::vector<std::vector<std::uint64_t>> all;
  for (dgrp_t group = 0; group < fs->group_desc_count; ++group) {
    std::vector<std::uint64_t> words((fs->super->s_clusters_per_group + 63) / 64, ~0ull);
    const std::vector<unsigned char> bytes = bitmap_block(fs.get(), group);
    std::memcpy(words.data(), bytes.data(), fs->super->s_clusters_per_group / 8);
    all.push_back(std::move(words));
  }
  return all;
}

void edit_descriptor(const std::string& path, std::uint32_t group, bool checksum,
                     void (*change)(DescriptorBytes)) {
  Ext2Handle fs = open_with_tree(path, EXT2_FLAG_RW | EXT2_FLAG_IGNORE_CSUM_ERRORS);
  auto* raw = reinterpret_cast<unsigned char*>(ext2fs_group_desc(fs.get(), fs->group_desc, group));
  change({raw, static_cast<std::uint32_t>(EXT2_DESC_SIZE(fs->super))});
  if (checksum) ext2fs_group_desc_csum_set(fs.get(), group);
  save(std::move(fs));
}

std::uint64_t bitmap_offset(const std::string& path, std::uint32_t group) {
  const Ext2Handle fs = open_with_tree(path, EXT2_FLAG_IGNORE_CSUM_ERRORS);
  return ext2fs_block_bitmap_loc(fs.get(), group) * fs->blocksize;
}

}  // namespace e4r::test
