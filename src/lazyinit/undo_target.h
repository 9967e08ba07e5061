// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>

#include "lazyinit/target.h"

namespace e4r::lazyinit {

// A target that saves what it overwrites in a file for e2undo(8), by libext2fs's undo I/O manager.
// The file grows by the old contents of every block that is written or zeroed, except zeroed ranges
// that read as zeros already. Writes take turns, so threads gain nothing. Only one such target may
// exist in a process.
//
// `file` must not exist yet, else the Error says so.
[[nodiscard]] Result<std::unique_ptr<Target>> keep_undo(std::unique_ptr<Target> below,
                                                        const std::string& file);

// Continues a file that another program has made for this file system, if nothing was written
// since. e2undo then undoes both. The Error says why libext2fs cannot continue with the file;
// nothing was written.
[[nodiscard]] Result<std::unique_ptr<Target>> go_on_with_undo(std::unique_ptr<Target> below,
                                                              const std::string& file);

}  // namespace e4r::lazyinit
