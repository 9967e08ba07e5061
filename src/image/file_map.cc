// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/file_map.h"

#include <memory>

namespace e4r::image {
namespace {

struct ExtentCloser {
  void operator()(ext2_extent_handle_t handle) const { ext2fs_extent_free(handle); }
};
using ExtentHandle = std::unique_ptr<std::remove_pointer_t<ext2_extent_handle_t>, ExtentCloser>;

// Collects mapped blocks in logical order. Counts every step, so that a circular mapping ends.
class Gatherer {
 public:
  Gatherer(std::uint32_t ino, std::uint64_t blocks_count, std::size_t limit)
      : ino_(ino), blocks_count_(blocks_count), limit_(limit) {}

  // Returns false to stop the walk.
  bool add(const MappedExtent& next) {
    if (next.len == 0 || next.block >= blocks_count_ || next.len > blocks_count_ - next.block)
      return stop("maps blocks outside of the file system");
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
  const bool go_on =
      gather.step() && gather.add({{static_cast<std::uint64_t>(logical), *block, 1}, false});
  return go_on ? 0 : BLOCK_ABORT;
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

}  // namespace e4r::image
