// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/geometry.h"

#include <algorithm>

namespace e4r::image {

std::uint32_t Geometry::group_blocks(Group group) const {
  if (group + 1 < groups_count) return blocks_per_group;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(blocks_count - group_first_block(group), blocks_per_group));
}

Group Geometry::group_of(Block block) const {
  if (block < first_data_block || block >= blocks_count) return groups_count;
  return static_cast<Group>((block - first_data_block) / blocks_per_group);
}

std::string_view describe(GroupFault fault) {
  switch (fault) {
    case GroupFault::none:
      return "nothing is wrong";
    case GroupFault::descriptor_range:
      return "its descriptor points outside of the file system";
    case GroupFault::descriptor_checksum:
      return "its descriptor's checksum is wrong";
    case GroupFault::group_zero_uninit:
      return "group 0 is marked uninitialised";
    case GroupFault::bitmap_read:
      return "its block bitmap cannot be read";
    case GroupFault::bitmap_checksum:
      return "its block bitmap's checksum is wrong";
    case GroupFault::bitmap_metadata:
      return "its block bitmap calls its own metadata free";
    case GroupFault::bitmap_padding:
      return "its block bitmap is not padded with ones";
  }
  return "unknown fault";
}

}  // namespace e4r::image
