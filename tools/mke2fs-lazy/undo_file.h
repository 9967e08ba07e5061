// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/types.h>

#include <ctime>
#include <optional>
#include <string>

#include "lazyinit/mkfs_options.h"

namespace e4r::tools {

// The file for e2undo(8) that mke2fs may make. It does so with -z, and also without when it
// overwrites a file system, in the directory that E2FSPROGS_UNDO_DIR or undo_dir in mke2fs.conf(5)
// names (mke2fs_setup_tdb() in misc/mke2fs.c of 1.47). Make the object before mke2fs starts, and
// ask it afterwards.
class UndoFile {
 public:
  // Puts the directory into the environment, so that mke2fs uses the directory that is watched
  // here.
  explicit UndoFile(const lazyinit::MkfsOptions& options);
  // The file's name, if mke2fs has made it or written to it.
  [[nodiscard]] std::optional<std::string> made() const;

 private:
  // Tells a file from an earlier file of the same name.
  struct Identity {
    ino_t inode = 0;
    timespec changed = {};
    [[nodiscard]] bool same_as(const Identity& other) const;
  };
  [[nodiscard]] std::optional<Identity> look() const;

  std::string path_;
  std::optional<Identity> before_;
};

// undo_dir in the section "defaults" of a configuration file of mke2fs.
[[nodiscard]] std::optional<std::string> undo_dir_in(const std::string& text);

}  // namespace e4r::tools
