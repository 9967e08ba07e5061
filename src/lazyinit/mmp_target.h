// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>

#include "lazyinit/target.h"

namespace e4r::lazyinit {

// For writing to a file system that other hosts may see: with multiple-mount protection (feature
// mmp) the target marks its MMP block as a checker does, by libext2fs, for as long as it exists.
// That takes twice the block's check interval, 11 seconds by default. Each sync() makes sure that
// no other host has marked it meanwhile. Other file systems, and what has no valid superblock, are
// handed back as they are.
//
// An Error says who uses it: a mount on another host, or a checker (which may have been killed:
// tune2fs -f -E clear_mmp).
[[nodiscard]] Result<std::unique_ptr<Target>> hold_mmp(std::unique_ptr<Target> below);

}  // namespace e4r::lazyinit
