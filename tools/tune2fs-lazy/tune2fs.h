// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string>

#include "tune2fs-lazy/session.h"
#include "util/status.h"

namespace e4r::tools {

// The path of the installed tune2fs, if it has this command of -E itable= ("finish", "probe" or
// "rearm").
[[nodiscard]] std::optional<std::string> tune2fs_with(const std::string& command);

// Runs `tune2fs -E itable=COMMAND` on the image, under `lock`, on this process's terminal. This
// process must not have the image open. With --undo, tune2fs makes the undo file. Returns an Error
// if tune2fs fails.
[[nodiscard]] Status run_itable(const std::string& tune2fs, const std::string& command,
                                const ImageOptions& options, const lazyinit::ImageLock& lock);

// Runs the installed tune2fs (PATH, then /usr/sbin and /sbin) with "-O FEATURES IMAGE", which sets
// or drops metadata_csum. Then gives the orphan file its checksums, which tune2fs omits
// (lazyinit/features.h), and clears ITABLE_ZEROED of groups that did not have the flag before. With
// --dry-run, only prints what would be done.
//
// Prints the output of tune2fs. tune2fs may ask for e2fsck -fD if a directory block has no room for
// a checksum. The file system is then marked as unclean, and this function returns an Error. If
// tune2fs fails, the Error contains its output. This process must not have the image open, because
// tune2fs opens a device exclusively. tune2fs inherits the lock.
//
// Turning metadata_csum on or off rewrites inodes, directories, extents and attributes. tune2fs can
// do that, so this program need not.
[[nodiscard]] Status change_metadata_csum(const ImageOptions& options, const std::string& features,
                                          const lazyinit::ImageLock& lock);

}  // namespace e4r::tools
