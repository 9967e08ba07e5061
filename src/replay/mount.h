// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string_view>

namespace e4r::replay {

// What mount options decide, besides the tunables.
struct MountFacts {
  bool data_writeback = false;  // data=writeback
  bool discard = false;         // freed extents become usable once the device has dropped them
};

// Reads the mount line in the recorder's notes (as in /proc/mounts) and the superblock's default
// options (EXT4_DEFM_*). The kernel's line leaves out what is the default.
[[nodiscard]] MountFacts read_mount(std::string_view noted, std::uint32_t default_options);

}  // namespace e4r::replay
