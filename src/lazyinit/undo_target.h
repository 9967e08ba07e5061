// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>

#include "lazyinit/target.h"

namespace e4r::lazyinit {

// A target that keeps what it overwrites in a file for e2undo(8), by libext2fs's undo I/O manager.
// The file grows by the old contents of every block that is written or zeroed, tables included.
// Writes take turns: threads gain nothing. One at a time in a process.
//
// `file` must not exist yet. An Error says so, or why it cannot be made.
[[nodiscard]] Result<std::unique_ptr<Target>> keep_undo(std::unique_ptr<Target> below,
                                                        const std::string& file);

}  // namespace e4r::lazyinit
