// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/storage.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "util/fd.h"
#include "util/file.h"
#include "util/status.h"

namespace e4r::lazyinit {
namespace {

bool is_on_a_file(dev_t device) {
  const auto backing = device_attribute(device, "loop/backing_file");
  struct stat st = {};
  return backing && ::stat(backing->c_str(), &st) == 0 && S_ISREG(st.st_mode);
}

bool is_all_holes(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return fd.is_open() && ::lseek(fd.get(), 0, SEEK_DATA) < 0 && errno == ENXIO;
}

}  // namespace

std::optional<std::string> device_attribute(dev_t device, const std::string& name) {
  for (const char* up : {"", "/.."}) {
    const auto text =
        read_file(fmt::format("/sys/dev/block/{}:{}{}/{}", major(device), minor(device), up, name));
    if (text.ok()) return text->substr(0, text->find('\n'));
  }
  return std::nullopt;
}

Storage look_at_storage(const std::string& path) {
  struct stat st = {};
  if (::stat(path.c_str(), &st) != 0) return {errno == ENOENT, true};
  if (S_ISREG(st.st_mode)) return {is_all_holes(path), true};
  if (!S_ISBLK(st.st_mode)) return {};
  return {false, device_attribute(st.st_rdev, "queue/discard_max_hw_bytes") == "0" ||
                     is_on_a_file(st.st_rdev)};
}

}  // namespace e4r::lazyinit
