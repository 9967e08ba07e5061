// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string_view>

namespace e4r::replay {

// What the options of a mount decide beside the tunables.
struct MountFacts {
  bool data_writeback = false;  // data=writeback
  bool discard = false;  // discard: freed extents are usable once the device has dropped them
};

// From what a recorder noted of the kernel, of which a line of /proc/mounts counts, and from the
// superblock's default options (EXT4_DEFM_*): the kernel's line leaves out what is the default.
[[nodiscard]] MountFacts read_mount(std::string_view noted, std::uint32_t default_options);

}  // namespace e4r::replay
