// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "common/completion.h"

namespace e4r::tools {

// The options of the command line, for completion: mke2fs's letters, and our keys of -E.
[[nodiscard]] completion::Node mkfs_options_node();

}  // namespace e4r::tools
