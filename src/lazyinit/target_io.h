// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>

#include "image/ext2_handle.h"
#include "lazyinit/target.h"
#include "util/status.h"

// Internal to src/lazyinit: libext2fs on top of a Target.
namespace e4r::lazyinit {

// Lets libext2fs use a Target as long as the object lives. libext2fs must open name() with
// manager(). Every read, write, zeroing and flush of libext2fs then goes to the target, without a
// cache. A flush is sync(). A discard is refused.
class TargetIo {
 public:
  explicit TargetIo(Target& target);
  ~TargetIo();
  TargetIo(const TargetIo&) = delete;
  TargetIo& operator=(const TargetIo&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] static io_manager manager();
  // The message of the target's last Error. libext2fs itself only returns a number.
  [[nodiscard]] std::string last_error() const;
  // The result of the last range that libext2fs had zeroed.
  [[nodiscard]] Zeroed last_zeroed() const;

 private:
  std::string name_;
};

// Internal to src/lazyinit: a file system that libext2fs has open on a Target.

class Ext2OverTarget {
 public:
  // Opens the target's file system for reading and writing. The superblock must have been accepted
  // by Superblock::read(). The target handles multiple-mount protection (layered_targets.h).
  [[nodiscard]] static Result<std::unique_ptr<Ext2OverTarget>> open(Target& target);

  [[nodiscard]] ext2_filsys fs() const { return fs_.get(); }
  // Unless `code` is 0, returns an Error that says what libext2fs was doing.
  [[nodiscard]] Status check(errcode_t code, const char* about) const;
  // Writes descriptors and superblock with their copies, then syncs. The primary superblock goes
  // last, after a sync of its own (ext2fs_flush2).
  [[nodiscard]] Status flush_all();
  // Writes only the superblocks, in the same way as flush_all().
  [[nodiscard]] Status flush_superblocks();

 private:
  explicit Ext2OverTarget(Target& target) : target_(target), io_(target) {}

  Target& target_;
  TargetIo io_;
  image::Ext2Handle fs_;
};

}  // namespace e4r::lazyinit
