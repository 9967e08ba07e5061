// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

namespace e4r::tools {

// The methods of `mke2fs -E itable_init=` (e2fsprogs/README.md). Empty if this mke2fs has no such
// key, or cannot be run. It is asked with -n for /dev/null and a value that it refuses, so it makes
// nothing.
[[nodiscard]] std::vector<std::string> methods_of_mke2fs(const std::string& mke2fs);

// The commands of `tune2fs -E itable=`; as above. tune2fs has to open a file system before it reads
// -E, so mke2fs first makes one of 64 KiB in memory.
[[nodiscard]] std::vector<std::string> commands_of_tune2fs(const std::string& tune2fs);

}  // namespace e4r::tools
