// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/mounted.h"

#include "image/ext2_handle.h"

namespace e4r::lazyinit {

Result<bool> is_mounted(const std::string& path) {
  int flags = 0;
  if (const errcode_t code = ext2fs_check_if_mounted(path.c_str(), &flags); code != 0)
    return error("{}: cannot find out whether it is mounted: {}", path, image::ext2_text(code));
  // EXT2_MF_BUSY would only say that this process has the device open itself.
  return (flags & (EXT2_MF_MOUNTED | EXT2_MF_SWAP)) != 0;
}

Status check_not_mounted(const std::string& path) {
  E4R_TRY(const bool mounted, is_mounted(path));
  if (mounted) return error("{} is mounted: unmount it first (umount {})", path, path);
  return {};
}

}  // namespace e4r::lazyinit
