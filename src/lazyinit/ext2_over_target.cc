// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/ext2_over_target.h"

namespace e4r::lazyinit {

Result<std::unique_ptr<Ext2OverTarget>> Ext2OverTarget::open(Target& target) {
  std::unique_ptr<Ext2OverTarget> over(new Ext2OverTarget(target));
  ext2_filsys fs = nullptr;
  const errcode_t code = ext2fs_open2(over->io_.name().c_str(), nullptr,
                                      EXT2_FLAG_RW | EXT2_FLAG_64BITS | EXT2_FLAG_SKIP_MMP, 0, 0,
                                      TargetIo::manager(), &fs);
  E4R_CHECK(over->checked(code, "open it"));
  fs->default_bitmap_type = EXT2FS_BMAP64_RBTREE;
  over->fs_.reset(fs);
  return over;
}

Status Ext2OverTarget::checked(errcode_t code, const char* about) const {
  if (code == 0) return {};
  const std::string detail = io_.last_error();
  return error("{}: cannot {}: {}", target_.path(), about,
               detail.empty() ? image::ext2_text(code) : detail);
}

Status Ext2OverTarget::flush_all() {
  fs_->flags &= ~(EXT2_FLAG_SUPER_ONLY | EXT2_FLAG_MASTER_SB_ONLY);
  ext2fs_mark_super_dirty(fs_.get());
  return checked(ext2fs_flush(fs_.get()), "write the group descriptors");
}

Status Ext2OverTarget::flush_superblocks() {
  fs_->flags &= ~EXT2_FLAG_MASTER_SB_ONLY;
  fs_->flags |= EXT2_FLAG_SUPER_ONLY;
  ext2fs_mark_super_dirty(fs_.get());
  Status status = checked(ext2fs_flush(fs_.get()), "write the superblock");
  fs_->flags &= ~EXT2_FLAG_SUPER_ONLY;
  return status;
}

}  // namespace e4r::lazyinit
