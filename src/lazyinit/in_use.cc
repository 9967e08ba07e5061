// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/in_use.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "image/ext2_handle.h"
#include "lazyinit/place.h"
#include "util/fd.h"
#include "util/loop_devices.h"

namespace e4r::lazyinit {
namespace {

bool is_held(const std::string& device) {
  const Fd fd(::open(device.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC | O_NONBLOCK));
  return !fd.is_open() && errno == EBUSY;
}

// Whether the path is mounted in the mount namespace of this process.
Result<bool> is_mounted(const std::string& path) {
  int flags = 0;
  const std::string file = place_of(path).file;
  if (const errcode_t code = ext2fs_check_if_mounted(file.c_str(), &flags); code != 0)
    return error("{}: cannot find out whether it is mounted: {}", path, image::ext2_text(code));
  // EXT2_MF_BUSY would only say that this process has the device open itself.
  return (flags & (EXT2_MF_MOUNTED | EXT2_MF_SWAP)) != 0;
}

Error shown_by(const std::string& path, const std::string& loop) {
  const std::string device = "/dev/" + loop;
  const auto mounted = is_mounted(device);
  if (mounted.ok() && *mounted)
    return error("{} is in use: {} shows it and is mounted: unmount that first (umount {})", path,
                 device, device);
  if (is_held(device))
    return error(
        "{} is in use: {} shows it and is mounted where it cannot be seen from here, or held by "
        "another program: unmount that first",
        path, device);
  return error("{} is in use: {} shows it: detach that first (losetup -d {})", path, device,
               device);
}

// The loop devices that show the same bytes as the file or device, without the device itself.
std::vector<std::string> loop_devices_with(const FileId& file) {
  std::vector<std::string> loops = loop_devices_of(file);
  if (loops.empty() && file.is_block_device) loops = loop_devices_beside(file);
  return loops;
}

}  // namespace

Result<std::optional<InUse>> find_use(const std::string& path) {
  E4R_TRY(const bool mounted, is_mounted(path));
  std::optional<InUse> use;
  if (mounted) {
    use = {true, error("{} is in use: it is mounted: unmount it first (umount {})", path, path)};
    return use;
  }
  const std::string name = place_of(path).file;
  const auto file = file_id(name);
  if (!file) return use;
  const std::vector<std::string> loops = loop_devices_with(*file);
  if (!loops.empty())
    use = {false, shown_by(path, loops.front())};
  else if (file->is_block_device && is_held(name))
    use = {false, held_error(path)};
  return use;
}

Status check_not_in_use(const std::string& path) {
  E4R_TRY(auto use, find_use(path));
  if (use) return std::move(use->refusal);
  return {};
}

Error held_error(const std::string& path) {
  return error(
      "{} is in use: mounted, perhaps where it cannot be seen from here, or held by another "
      "program: unmount it first",
      path);
}

}  // namespace e4r::lazyinit
