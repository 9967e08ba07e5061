// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

namespace e4r::tools {

// Returns the methods that `mke2fs -E itable_init=` accepts (e2fsprogs/README.md). Empty if this
// mke2fs has no such key or cannot be run. mke2fs is run with -n on /dev/null and with a value that
// it refuses, so it creates nothing.
[[nodiscard]] std::vector<std::string> methods_of_mke2fs(const std::string& mke2fs);

// Returns the commands that `tune2fs -E itable=` accepts, found like methods_of_mke2fs(). tune2fs
// must open a file system before it reads -E, so this function first makes a file system of 64 KiB
// in memory.
[[nodiscard]] std::vector<std::string> commands_of_tune2fs(const std::string& tune2fs);

}  // namespace e4r::tools
