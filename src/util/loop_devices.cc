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

// What a loop device shows, by its name ("loop0"); `backing`: the name that sysfs has for it.
std::optional<FileId> shown_by(const std::string& name, const std::string& backing) {
  const auto named = file_id(backing);
  if (named && named->is_block_device) return named;
  const auto told = loop_shows("/dev/" + name);
  return told ? told : named;
}

// Calls `see` with the name of each loop device in use and what it shows.
template <class See>
void for_each_loop_device(See see) {
  std::error_code failed;
  for (fs::directory_iterator it("/sys/block", failed), end; !failed && it != end;
       it.increment(failed)) {
    const std::string name = it->path().filename();
    if (!name.starts_with("loop")) continue;
    const std::string backing = read_attribute(it->path() / "loop" / "backing_file");
    if (backing.empty()) continue;
    if (const auto shown = shown_by(name, backing)) see(name, *shown);
  }
}

}  // namespace

// The kernel packs lo_device with huge_encode_dev(), which is what stat() delivers on 64 bits. A
// device that shows a block device tells the inode of a node, of which there may be many.
std::optional<FileId> loop_shows(const std::string& node) {
  const Fd fd(::open(node.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct loop_info64 info = {};
  if (!fd.is_open() || ::ioctl(fd.get(), LOOP_GET_STATUS64, &info) != 0) return std::nullopt;
  return FileId{static_cast<dev_t>(info.lo_device), static_cast<ino_t>(info.lo_inode), false};
}

std::vector<std::string> loop_devices_of(const FileId& file) {
  std::vector<std::string> out;
  for_each_loop_device([&](const std::string& name, const FileId& shown) {
    if (shown == file) out.push_back(name);
  });
  std::ranges::sort(out);
  return out;
}

std::vector<std::string> loop_devices_beside(const FileId& device) {
  std::optional<FileId> file;
  std::string own;
  for_each_loop_device([&](const std::string& name, const FileId& shown) {
    if (file_id("/dev/" + name) != device) return;
    file = shown;
    own = name;
  });
  if (!file) return {};
  std::vector<std::string> out = loop_devices_of(*file);
  std::erase(out, own);
  return out;
}

}  // namespace e4r
