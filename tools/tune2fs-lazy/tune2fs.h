// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "util/status.h"

namespace e4r::tools {

// Runs the installed tune2fs with "-O FEATURES IMAGE" (PATH, then /usr/sbin and /sbin), nothing on
// its standard input, its output kept. An Error has what it printed last. The image must not be
// open here: tune2fs takes a device for itself alone.
//
// Turning metadata_csum on or off rewrites inodes, directories, extents and attributes. tune2fs
// knows how, and there is no reason to know it twice.
[[nodiscard]] Status run_tune2fs(const std::string& features, const std::string& image);

}  // namespace e4r::tools
