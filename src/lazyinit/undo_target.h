// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>

#include "lazyinit/target.h"

namespace e4r::lazyinit {

// A target that keeps what it overwrites in a file for e2undo(8), by libext2fs's undo I/O manager.
// The file grows by the old contents of every block that is written or zeroed, tables included,
// but for what is zeroed and reads as zeros already. Writes take turns: threads gain nothing. One
// at a time in a process.
//
// `file` must not exist yet. An Error says so, or why it cannot be made.
[[nodiscard]] Result<std::unique_ptr<Target>> keep_undo(std::unique_ptr<Target> below,
                                                        const std::string& file);

// The same with a file that another program has made for this file system and that nothing has
// been written behind: e2undo then undoes both. An Error says why libext2fs cannot go on with it,
// and nothing was written.
[[nodiscard]] Result<std::unique_ptr<Target>> go_on_with_undo(std::unique_ptr<Target> below,
                                                              const std::string& file);

}  // namespace e4r::lazyinit
