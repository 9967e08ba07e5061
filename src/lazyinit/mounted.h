// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "util/status.h"

namespace e4r::lazyinit {

// Whether a device, or the file behind a loop device, is mounted, as libext2fs finds out
// (ext2fs_check_if_mounted). A path that does not exist is not.
[[nodiscard]] Result<bool> is_mounted(const std::string& path);

// An Error that says what to do when it is.
[[nodiscard]] Status check_not_mounted(const std::string& path);

}  // namespace e4r::lazyinit
