// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string>

#include "util/status.h"

namespace e4r::lazyinit {

// Somebody uses a file system, so its bytes must not be changed.
struct InUse {
  bool mounted = false;  // in the mount namespace of this process, under this name
  Error refusal;         // says who uses it and what to do
};

// Looks for a mount (ext2fs_check_if_mounted), for a loop device that shows the bytes (for a loop
// device: another one on the same file), and for a program that has the block device open
// exclusively. A mount does that too, in every mount namespace. For the last check the device is
// opened with O_EXCL, so this process must not have it open that way. A path that does not exist
// is not in use. An Error if it cannot be found out whether the path is mounted.
[[nodiscard]] Result<std::optional<InUse>> find_use(const std::string& path);

// Refuses a file system that somebody uses.
[[nodiscard]] Status check_not_in_use(const std::string& path);

// The Error of a block device that is open exclusively.
[[nodiscard]] Error held_error(const std::string& path);

}  // namespace e4r::lazyinit
