// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/files.h"

#include <algorithm>
#include <bit>
#include <boost/unordered/unordered_flat_set.hpp>
#include <memory>
#include <vector>

namespace e4r::image {
namespace {

struct ExtentCloser {
  void operator()(ext2_extent_handle_t handle) const { ext2fs_extent_free(handle); }
};
using ExtentHandle = std::unique_ptr<std::remove_pointer_t<ext2_extent_handle_t>, ExtentCloser>;

// Collects mapped blocks in logical order. Limits the number of steps, so that a circular mapping
// ends.
class Gatherer {
 public:
  Gatherer(std::uint32_t ino, std::uint64_t blocks_count, std::size_t limit)
      : ino_(ino), blocks_count_(blocks_count), limit_(limit) {}

  // Returns false to stop the walk.
  bool add(const MappedExtent& next) {
    if (next.len == 0 || next.block >= blocks_count_ || next.len > blocks_count_ - next.block)
      return stop("maps blocks outside the file system");
    if ((total_ += next.len) > blocks_count_) return stop("maps more blocks than there are");
    if (!extents_.empty() && continues(extents_.back(), next)) {
      extents_.back().len += next.len;
      return true;
    }
    extents_.push_back(next);
    return extents_.size() <= limit_ || stop("has too many extents");
  }

  bool step() { return ++steps_ <= blocks_count_ * 2 + 16 || stop("maps its blocks in a circle"); }

  Result<std::vector<MappedExtent>> take(errcode_t code) {
    if (wrong_ != nullptr) return error("inode {} {}", ino_, wrong_);
    if (code != 0) return error("mapping of inode {}: {}", ino_, ext2_text(code));
    return std::move(extents_);
  }

 private:
  static bool continues(const MappedExtent& a, const MappedExtent& b) {
    return a.unwritten == b.unwritten && a.is_continued_by(b);
  }

  bool stop(const char* what) {
    wrong_ = what;
    return false;
  }

  std::uint32_t ino_;
  std::uint64_t blocks_count_;
  std::size_t limit_;
  std::vector<MappedExtent> extents_;
  std::uint64_t total_ = 0;
  std::uint64_t steps_ = 0;
  const char* wrong_ = nullptr;
};

Result<ext2_inode_large> load_inode(ext2_filsys fs, std::uint32_t ino) {
  ext2_inode_large inode = {};
  if (const errcode_t code =
          ext2fs_read_inode_full(fs, ino, reinterpret_cast<ext2_inode*>(&inode), sizeof inode))
    return error("inode {}: {}", ino, ext2_text(code));
  return inode;
}

errcode_t walk_tree(ext2_filsys fs, std::uint32_t ino, Gatherer& gather) {
  ext2_extent_handle_t raw = nullptr;
  if (const errcode_t code = ext2fs_extent_open(fs, ino, &raw)) return code;
  const ExtentHandle handle(raw);
  ext2fs_extent extent = {};
  errcode_t code = ext2fs_extent_get(raw, EXT2_EXTENT_ROOT, &extent);
  for (; code == 0 && gather.step(); code = ext2fs_extent_get(raw, EXT2_EXTENT_NEXT, &extent)) {
    if (!(extent.e_flags & EXT2_EXTENT_FLAGS_LEAF)) continue;
    const bool unwritten = extent.e_flags & EXT2_EXTENT_FLAGS_UNINIT;
    if (!gather.add({{extent.e_lblk, extent.e_pblk, extent.e_len}, unwritten})) break;
  }
  return code == EXT2_ET_EXTENT_NO_NEXT ? 0 : code;
}

int on_block(ext2_filsys, blk64_t* block, e2_blkcnt_t logical, blk64_t, int, void* arg) {
  auto& gather = *static_cast<Gatherer*>(arg);
  const bool continues =
      gather.step() && gather.add({{static_cast<std::uint64_t>(logical), *block, 1}, false});
  return continues ? 0 : BLOCK_ABORT;
}

}  // namespace

Result<InodeInfo> read_inode(ext2_filsys fs, std::uint32_t ino) {
  E4R_TRY(ext2_inode_large large, load_inode(fs, ino));
  auto* inode = reinterpret_cast<ext2_inode*>(&large);
  InodeInfo info;
  info.ino = ino;
  info.mode = large.i_mode;
  info.links = large.i_links_count;
  info.flags = large.i_flags;
  info.size = EXT2_I_SIZE(inode);
  info.sectors = ext2fs_get_stat_i_blocks(fs, inode);
  info.extents = large.i_flags & EXT4_EXTENTS_FL;
  info.inline_data = large.i_flags & EXT4_INLINE_DATA_FL;
  return info;
}

Result<std::vector<MappedExtent>> read_extents(ext2_filsys fs, std::uint32_t ino,
                                               std::size_t limit) {
  E4R_TRY(ext2_inode_large large, load_inode(fs, ino));
  auto* inode = reinterpret_cast<ext2_inode*>(&large);
  if (!ext2fs_inode_has_valid_blocks2(fs, inode)) return std::vector<MappedExtent>();
  Gatherer gather(ino, ext2fs_blocks_count(fs->super), limit);
  if (large.i_flags & EXT4_EXTENTS_FL) return gather.take(walk_tree(fs, ino, gather));
  return gather.take(ext2fs_block_iterate3(fs, ino, BLOCK_FLAG_READ_ONLY | BLOCK_FLAG_DATA_ONLY,
                                           nullptr, on_block, &gather));
}

namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};

// A mask of the bits [low, high) of a word, where 0 <= low < high <= 64.
std::uint64_t mask(unsigned low, unsigned high) {
  return (kAll << low) & (kAll >> (64 - high));
}

// Calls visit(word index, mask) for each word that [first, first + count) touches, until a call
// returns false. Returns true if all calls returned true.
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
  // The descriptors follow the superblock. libext2fs computes their location from the first data
  // block. With bigalloc and 1 KiB blocks, that is one block before the superblock, so its result
  // is one block too low, except for descriptor block 0.
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

namespace {

// Walks the directories from the root down. Visits each directory once, even if links between
// directories form a cycle.
class Walk {
 public:
  Walk(ext2_filsys fs, const std::set<std::uint64_t>& wanted) : fs_(fs), wanted_(wanted) {
    visit(EXT2_ROOT_INO, 0, {});
  }

  FoundPaths run() {
    while (at_ < directories_.size() && found_.paths.size() < wanted_.size()) {
      const errcode_t code =
          ext2fs_dir_iterate2(fs_, directories_[at_].ino, 0, nullptr, &Walk::on_entry, this);
      // Without the filetype feature, any named inode may be a directory, so each is tried. An
      // inode that is not a directory is no failure.
      if (code != 0 && code != EXT2_ET_NO_DIRECTORY) ++found_.unreadable;
      if (code == EXT2_ET_NO_DIRECTORY && at_ == 0) found_.has_inodes = false;
      ++at_;
    }
    return std::move(found_);
  }

 private:
  struct Directory {
    ext2_ino_t ino = 0;
    std::size_t parent = 0;  // index in directories_
    std::string name;
  };

  static int on_entry(ext2_ino_t, int entry, ext2_dir_entry* dirent, int, int, char*, void* walk) {
    if (entry != DIRENT_OTHER_FILE) return 0;
    return static_cast<Walk*>(walk)->add(*dirent) ? 0 : DIRENT_ABORT;
  }

  // Returns false when nothing is left to find.
  bool add(ext2_dir_entry& dirent) {
    const ext2_ino_t ino = dirent.inode;
    if (ino == 0 || ino > fs_->super->s_inodes_count) return true;
    std::string name(dirent.name, static_cast<std::size_t>(ext2fs_dirent_name_len(&dirent)));
    if (wanted_.contains(ino)) found_.paths.try_emplace(ino, path_of(at_) + "/" + name);
    const int type = ext2fs_dirent_file_type(&dirent);
    if (type == EXT2_FT_DIR || type == EXT2_FT_UNKNOWN) visit(ino, at_, std::move(name));
    return found_.paths.size() < wanted_.size();
  }

  void visit(ext2_ino_t ino, std::size_t parent, std::string name) {
    if (seen_.insert(ino).second) directories_.push_back({ino, parent, std::move(name)});
  }

  [[nodiscard]] std::string path_of(std::size_t directory) const {
    std::string out;
    for (; directory != 0; directory = directories_[directory].parent)
      out.insert(0, "/" + directories_[directory].name);
    return out;
  }

  ext2_filsys fs_;
  const std::set<std::uint64_t>& wanted_;
  std::vector<Directory> directories_;
  boost::unordered_flat_set<ext2_ino_t> seen_;
  std::size_t at_ = 0;
  FoundPaths found_;
};

}  // namespace

FoundPaths find_paths(ext2_filsys fs, const std::set<std::uint64_t>& wanted) {
  return Walk(fs, wanted).run();
}

}  // namespace e4r::image
