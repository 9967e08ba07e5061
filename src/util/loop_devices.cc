// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/loop_devices.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "util/fd.h"
#include "util/file.h"

namespace e4r {
namespace {

namespace fs = std::filesystem;

// The kernel packs lo_device with huge_encode_dev(), which is what stat() delivers on 64 bits. A
// device that shows a block device tells the inode of a node, of which there may be many.
std::optional<FileId> told_by_device(const std::string& node) {
  const Fd fd(::open(node.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct loop_info64 info = {};
  if (!fd.is_open() || ::ioctl(fd.get(), LOOP_GET_STATUS64, &info) != 0) return std::nullopt;
  return FileId{static_cast<dev_t>(info.lo_device), static_cast<ino_t>(info.lo_inode), false};
}

bool shows(const std::string& name, const std::string& backing, const FileId& file) {
  if (!file.is_block_device)
    if (const auto told = told_by_device("/dev/" + name)) return *told == file;
  return file_id(backing) == file;
}

}  // namespace

std::vector<std::string> loop_devices_of(const FileId& file) {
  std::vector<std::string> out;
  std::error_code failed;
  for (fs::directory_iterator it("/sys/block", failed), end; !failed && it != end;
       it.increment(failed)) {
    const std::string name = it->path().filename();
    if (!name.starts_with("loop")) continue;
    const std::string backing = read_attribute(it->path() / "loop" / "backing_file");
    if (!backing.empty() && shows(name, backing, file)) out.push_back(name);
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace e4r
