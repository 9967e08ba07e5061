// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>

#include "lazyinit/mkfs.h"

namespace e4r::tools {

// The file or device of the file system, after all is done.
struct Place {
  std::string path;
  bool device = false;
  std::uint64_t size = 0;       // bytes
  std::uint64_t allocated = 0;  // bytes on the disk of a sparse file
};

// The summary at the end: a few lines that all start with "mke2fs-lazy: ".
[[nodiscard]] std::string mkfs_summary(const lazyinit::MkfsOptions& options,
                                       const lazyinit::MkfsOutcome& outcome, const Place& place);

}  // namespace e4r::tools
