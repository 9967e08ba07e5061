// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>

#include "lazyinit/mkfs_options.h"
#include "util/status.h"

namespace e4r::tools {

// For write_unreadable: makes the device readable wherever mke2fs and its users are going to read
// it. `mke2fs -n` says what depends on the device (block size, stride). Then mke2fs makes the same
// file system in a sparse file in memory (without -d), which shows where it writes. Pages there
// that cannot be read get zeros (lazyinit/unreadable.h); all others are left alone, since mke2fs
// has not asked yet whether it may overwrite the device.
//
// Writes nothing if mke2fs will refuse the command line, or if there is no such device.
struct MadeReadable {
  std::uint64_t written = 0;     // bytes
  std::uint64_t block_size = 0;  // of the file system to be; 0 without a rehearsal
};
[[nodiscard]] Result<MadeReadable> make_readable(const std::string& mke2fs, const std::string& name,
                                                 const lazyinit::MkfsOptions& options);

}  // namespace e4r::tools
