// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// Internal to src/lazyinit: a file system that libext2fs has open on a Target.
#include <memory>

#include "lazyinit/target_io.h"
#include "util/status.h"

namespace e4r::lazyinit {

class Ext2OverTarget {
 public:
  // Opens for writing. The superblock must have passed Superblock::read(). The target takes care of
  // multiple-mount protection (mmp_target.h).
  [[nodiscard]] static Result<std::unique_ptr<Ext2OverTarget>> open(Target& target);

  [[nodiscard]] ext2_filsys fs() const { return fs_.get(); }
  // Makes an Error that says what libext2fs tried to do, unless `code` is 0.
  [[nodiscard]] Status checked(errcode_t code, const char* about) const;
  // Writes descriptors and superblock with their copies, then syncs. The primary superblock goes
  // last, after a sync of its own (ext2fs_flush2).
  [[nodiscard]] Status flush_all();
  // Writes the superblocks only, in the same way.
  [[nodiscard]] Status flush_superblocks();

 private:
  explicit Ext2OverTarget(Target& target) : target_(target), io_(target) {}

  Target& target_;
  TargetIo io_;
  image::Ext2Handle fs_;
};

}  // namespace e4r::lazyinit
