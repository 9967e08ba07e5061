// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/loop_copy.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <filesystem>

#include "util/file.h"

namespace e4r::record {
namespace {

// The file behind a loop device that shows the whole file.
Result<std::string> whole_file_behind(const std::string& device_name) {
  const std::string loop = fmt::format("/sys/class/block/{}/loop/", device_name);
  std::string file = read_attribute(loop + "backing_file");
  if (file.empty())
    return error("{}: is not a loop device: --snapshot reflink copies the file of one",
                 device_name);
  if (read_attribute(loop + "offset") != "0")
    return error("{}: shows a part of {} only: give --snapshot freeze", device_name, file);
  return file;
}

}  // namespace

Result<LoopCopy> LoopCopy::make(const std::string& device_name) {
  E4R_TRY(const std::string file, whole_file_behind(device_name));
  const Fd from(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!from.is_open()) return error("{}: {}", file, errno_text(errno));
  const std::string directory = std::filesystem::path(file).parent_path();
  Fd copy(::open(directory.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  if (!copy.is_open() || ::ioctl(copy.get(), FICLONE, from.get()) != 0)
    return error(
        "{}: its file system cannot make a copy that shares blocks: {}; give --snapshot "
        "freeze",
        file, errno_text(errno));
  return LoopCopy(std::move(copy));
}

}  // namespace e4r::record
