// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/orphan_file.h"

#include <cstdint>
#include <span>
#include <vector>

#include "lazyinit/ext2_over_target.h"
#include "util/crc32c.h"
#include "util/little_endian.h"

namespace e4r::lazyinit {
namespace {

class OrphanFile {
 public:
  OrphanFile(Target& target, const Ext2OverTarget& over, bool write)
      : target_(target), over_(over), fs_(over.fs()), write_(write), block_(fs_->blocksize) {}

  Status walk() {
    if (!ext2fs_has_feature_orphan_file(fs_->super)) return {};
    number_ = fs_->super->s_orphan_file_inum;
    ext2_inode inode = {};
    errcode_t code = ext2fs_read_inode(fs_, number_, &inode);
    generation_ = inode.i_generation;
    if (code == 0)
      code = ext2fs_block_iterate3(fs_, number_, BLOCK_FLAG_DATA_ONLY | BLOCK_FLAG_READ_ONLY,
                                   nullptr, &OrphanFile::each, this);
    if (is_foreign_)
      return error("{}: its orphan file, inode {}, is damaged: run e2fsck -f {}", target_.path(),
                   number_, target_.path());
    return over_.checked(code != 0 ? code : code_, "read the orphan file, or give it checksums");
  }

 private:
  // An upper limit: mke2fs makes at most 512 blocks.
  static constexpr e2_blkcnt_t kMostBlocks = 1 << 16;

  static int each(ext2_filsys, blk64_t* block, e2_blkcnt_t index, blk64_t, int, void* self) {
    auto& file = *static_cast<OrphanFile*>(self);
    if (index >= kMostBlocks) file.is_foreign_ = true;
    if (!file.is_foreign_) file.code_ = file.see(*block);
    return file.is_foreign_ || file.code_ != 0 ? BLOCK_ABORT : 0;
  }

  // The checksum of this block, which block_ has; 0 without metadata_csum. libext2fs 1.47.0 has
  // ext2fs_do_orphan_file_block_csum(), but returns the value in the order of the disk. Later
  // versions were to change that, for big-endian machines.
  [[nodiscard]] std::uint32_t checksum(std::uint64_t block) const {
    if (!ext2fs_has_feature_metadata_csum(fs_->super)) return 0;
    std::uint32_t crc = fs_->csum_seed;
    const auto add = [&crc](auto value) {
      const auto stored = to_le(value);
      crc = crc32c(crc, std::as_bytes(std::span(&stored, 1)));
    };
    add(std::uint32_t{number_});
    add(generation_);
    add(block);
    const auto entries = std::as_bytes(std::span(block_));
    return crc32c(crc, entries.first(entries.size() - sizeof(ext4_orphan_block_tail)));
  }

  errcode_t see(blk64_t block) {
    is_foreign_ = block >= ext2fs_blocks_count(fs_->super);
    if (is_foreign_) return 0;
    if (const errcode_t code = io_channel_read_blk64(fs_->io, block, 1, block_.data())) return code;
    ext4_orphan_block_tail* tail = ext2fs_orphan_block_tail(fs_, block_.data());
    is_foreign_ = from_le(tail->ob_magic) != EXT4_ORPHAN_BLOCK_MAGIC;
    const std::uint32_t right = checksum(block);
    if (is_foreign_ || !write_ || from_le(tail->ob_checksum) == right) return 0;
    tail->ob_checksum = to_le(right);
    return io_channel_write_blk64(fs_->io, block, 1, block_.data());
  }

  Target& target_;
  const Ext2OverTarget& over_;
  ext2_filsys fs_;
  bool write_;
  std::vector<char> block_;
  ext2_ino_t number_ = 0;
  std::uint32_t generation_ = 0;
  errcode_t code_ = 0;
  bool is_foreign_ = false;
};

}  // namespace

Status orphan_file_readable(Target& target) {
  E4R_TRY(const auto over, Ext2OverTarget::open(target));
  return OrphanFile(target, *over, false).walk();
}

Status renew_orphan_checksums(Target& target) {
  E4R_TRY(const auto over, Ext2OverTarget::open(target));
  E4R_CHECK(OrphanFile(target, *over, true).walk());
  return target.sync();
}

}  // namespace e4r::lazyinit
