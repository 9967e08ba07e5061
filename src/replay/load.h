// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "image/image.h"
#include "state/fs_state.h"

namespace e4r::replay {

// The start state of a replay: the kernel's state right after a mount. `image` must have its
// bitmaps loaded, and must outlive the Source, which refers to them.
[[nodiscard]] state::Source source_from(const image::Image& image);

// The effects of mount options, other than tunables.
struct MountFacts {
  bool data_writeback = false;  // data=writeback
  bool discard = false;         // freed extents can be allocated only after they were discarded
};

// Reads the mount line in the recorder's notes (as in /proc/mounts) and the superblock's default
// options (EXT4_DEFM_*), since the kernel's line omits options that are the default.
[[nodiscard]] MountFacts read_mount(std::string_view noted, std::uint32_t default_options);

}  // namespace e4r::replay
