// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "util/status.h"

namespace e4r::lazyinit {

// Whether a device, or the file behind a loop device, is mounted, as libext2fs finds out
// (ext2fs_check_if_mounted): in the mount namespace of this process. A path that does not exist is
// not.
[[nodiscard]] Result<bool> is_mounted(const std::string& path);

// An Error that says by whom the file system is used and what to do: it is mounted, or a loop
// device shows its bytes as well, mounted or not. For a loop device that is another one on the same
// file.
[[nodiscard]] Status check_not_in_use(const std::string& path);

// An Error when somebody has the block device exclusively, as a mount has in whichever mount
// namespace. The kernel tells by an open with O_EXCL, so the device must not be open that way here.
[[nodiscard]] Status check_not_held(const std::string& path);
// What to say of it.
[[nodiscard]] Error held_error(const std::string& path);

}  // namespace e4r::lazyinit
