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

// The file or device with the finished file system.
struct FinishedFile {
  std::string path;
  bool device = false;
  std::uint64_t size = 0;       // bytes
  std::uint64_t allocated = 0;  // bytes that a sparse file occupies on its disk
};

// The summary: a few lines that all start with "mke2fs-lazy: ". The first one says which program
// has initialised the tables.
[[nodiscard]] std::string mkfs_summary(const lazyinit::MkfsOptions& options,
                                       const lazyinit::MkfsOutcome& outcome,
                                       const FinishedFile& place);

// For write_unreadable: makes the device readable wherever mke2fs and users of the file system will
// read it. Runs `mke2fs -n`, which reports the values that depend on the device (block size,
// stride). Then lets mke2fs make the same file system (without -d) in a sparse file in memory,
// which shows the pages that mke2fs writes. Where such a page of the device cannot be read, writes
// zeros to it (lazyinit/mkfs.h). Leaves all other pages alone, because mke2fs has not yet asked
// whether it may overwrite the device.
//
// Writes nothing if mke2fs will refuse the command line, or if there is no such device.
struct MadeReadable {
  std::uint64_t written = 0;     // bytes
  std::uint64_t block_size = 0;  // block size of the new file system; 0 without a rehearsal
};
[[nodiscard]] Result<MadeReadable> make_readable(const std::string& mke2fs, const std::string& name,
                                                 const lazyinit::MkfsOptions& options);

// Finds the undo file for e2undo(8) that mke2fs may make. mke2fs makes one with -z. Without -z, it
// makes one when it overwrites a file system, in the directory given by E2FSPROGS_UNDO_DIR or by
// undo_dir in mke2fs.conf(5) (mke2fs_setup_tdb() in misc/mke2fs.c of 1.47). Construct the object
// before mke2fs starts, and call made() afterwards.
class UndoFile {
 public:
  // Puts the directory into the environment, so that mke2fs uses the directory that this object
  // watches.
  explicit UndoFile(const lazyinit::MkfsOptions& options);
  // The file's name, if mke2fs has created it or written to it.
  [[nodiscard]] std::optional<std::string> made() const;

 private:
  // Distinguishes a file from an earlier file with the same name.
  struct Identity {
    ino_t inode = 0;
    timespec changed = {};
    [[nodiscard]] bool same_as(const Identity& other) const;
  };
  [[nodiscard]] std::optional<Identity> look() const;

  std::string path_;
  std::optional<Identity> before_;
};

// The value of undo_dir in the section "defaults" of an mke2fs configuration file.
[[nodiscard]] std::optional<std::string> undo_dir_in(const std::string& text);

}  // namespace e4r::tools
