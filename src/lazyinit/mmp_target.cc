// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/mmp_target.h"

#include <cstring>
#include <mutex>

#include "lazyinit/ext2_over_target.h"
#include "lazyinit/place.h"
#include "lazyinit/superblock.h"
#include "lazyinit/target_over.h"

namespace e4r::lazyinit {
namespace {

class MmpTarget final : public TargetOver {
 public:
  explicit MmpTarget(std::unique_ptr<Target> below) : TargetOver(std::move(below)) {}
  ~MmpTarget() override {
    if (held_) ext2fs_mmp_stop(over_->fs());
  }
  MmpTarget(const MmpTarget&) = delete;
  MmpTarget& operator=(const MmpTarget&) = delete;

  Status start() {
    E4R_TRY(over_, Ext2OverTarget::open(below()));
    ext2_filsys fs = over_->fs();
    // libext2fs would read the MMP block from the device by this name, past all caches.
    ext2fs_free_mem(&fs->device_name);
    fs->device_name = ::strdup(path().c_str());
    fs->flags &= ~EXT2_FLAG_SKIP_MMP;
    const errcode_t code = ext2fs_mmp_start(fs);
    if (code == EXT2_ET_MMP_FSCK_ON)
      return error(
          "{}: multiple-mount protection: e2fsck or the like works on it, here or on another host, "
          "or was killed: if you are sure that none does, tune2fs -f -E clear_mmp {}",
          path(), path());
    if (code == EXT2_ET_MMP_FAILED)
      return error("{}: multiple-mount protection: another host has it mounted", path());
    E4R_CHECK(over_->checked(code, "start multiple-mount protection"));
    held_ = true;
    return {};
  }

  [[nodiscard]] Status sync() override {
    const std::lock_guard lock(mutex_);
    const errcode_t code = ext2fs_mmp_update2(over_->fs(), 1);
    if (code == EXT2_ET_MMP_CHANGE_ABORT)
      return error("{}: multiple-mount protection: another host has taken it meanwhile", path());
    E4R_CHECK(over_->checked(code, "keep multiple-mount protection"));
    return below().sync();
  }

 private:
  std::unique_ptr<Ext2OverTarget> over_;
  std::mutex mutex_;
  bool held_ = false;
};

}  // namespace

Result<std::unique_ptr<Target>> hold_mmp(std::unique_ptr<Target> below) {
  const auto super = Superblock::read(*below);
  if (!super.ok() || !super->has_incompat(EXT4_FEATURE_INCOMPAT_MMP)) return below;
  if (place_of(below->path()).offset != 0)
    return error("{}: libext2fs has no multiple-mount protection at an offset: tune2fs -O ^mmp {}",
                 below->path(), below->path());
  auto target = std::make_unique<MmpTarget>(std::move(below));
  E4R_CHECK(target->start());
  return std::unique_ptr<Target>(std::move(target));
}

}  // namespace e4r::lazyinit
