// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/fs_info.h"

namespace e4r::image {

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
