// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>

#include "lazyinit/mkfs.h"
#include "lazyinit/mkfs_options.h"
#include "util/status.h"

namespace e4r::tools {

// The file or device of the file system, after all is done.
struct FinishedFile {
  std::string path;
  bool device = false;
  std::uint64_t size = 0;       // bytes
  std::uint64_t allocated = 0;  // bytes on the disk of a sparse file
};

// The summary at the end: a few lines that all start with "mke2fs-lazy: ". The first one says which
// program has initialised the tables.
[[nodiscard]] std::string mkfs_summary(const lazyinit::MkfsOptions& options,
                                       const lazyinit::MkfsOutcome& outcome,
                                       const FinishedFile& place);

// For write_unreadable: makes the device readable wherever mke2fs and its users are going to read
// it. `mke2fs -n` says what depends on the device (block size, stride). Then mke2fs makes the same
// file system in a sparse file in memory (without -d), which shows where it writes. Pages there
// that cannot be read get zeros (lazyinit/mkfs.h); all others are left alone, since mke2fs
// has not asked yet whether it may overwrite the device.
//
// Writes nothing if mke2fs will refuse the command line, or if there is no such device.
struct MadeReadable {
  std::uint64_t written = 0;     // bytes
  std::uint64_t block_size = 0;  // of the file system to be; 0 without a rehearsal
};
[[nodiscard]] Result<MadeReadable> make_readable(const std::string& mke2fs, const std::string& name,
                                                 const lazyinit::MkfsOptions& options);

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
