// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "util/status.h"

namespace e4r::lazyinit {

// Whether a device, or the file behind a loop device, is mounted in the mount namespace of this
// process (ext2fs_check_if_mounted). False for a path that does not exist.
[[nodiscard]] Result<bool> is_mounted(const std::string& path);

// Refuses a file system that is mounted, or whose bytes a loop device shows (for a loop device:
// another one on the same file). The Error says who uses it and what to do.
[[nodiscard]] Status check_not_in_use(const std::string& path);

// Refuses a block device that somebody has opened exclusively. A mount does so in every mount
// namespace. The check opens the device with O_EXCL, so this process must not have it open that
// way.
[[nodiscard]] Status check_not_held(const std::string& path);
// The Error of such a device.
[[nodiscard]] Error held_error(const std::string& path);

}  // namespace e4r::lazyinit
