// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>

#include "lazyinit/target.h"

namespace e4r::lazyinit {

// Wraps a target for writing where other hosts may see the file system. With multiple-mount
// protection (feature mmp) the MMP block is marked as a checker marks it, by libext2fs, as long as
// the object lives. That takes twice the block's check interval, 11 seconds by default. Each sync()
// checks that no other host has marked the block meanwhile. Without mmp, or without a valid
// superblock, returns `below`.
//
// The Error says who uses the file system: a mount on another host, or a checker, which may have
// been killed (tune2fs -f -E clear_mmp).
[[nodiscard]] Result<std::unique_ptr<Target>> hold_mmp(std::unique_ptr<Target> below);

}  // namespace e4r::lazyinit
