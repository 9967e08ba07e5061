// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/loop_copy.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace e4r::record {
namespace {

std::string read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The file behind a loop device that shows all of it.
Result<std::string> whole_file_behind(const std::string& device_name) {
  const std::string loop = fmt::format("/sys/class/block/{}/loop/", device_name);
  std::string file = read_line(loop + "backing_file");
  if (file.empty())
    return error("{}: is no loop device: --snapshot reflink copies the file of one", device_name);
  if (read_line(loop + "offset") != "0")
    return error("{}: shows a part of {} only: give --snapshot freeze", device_name, file);
  return file;
}

}  // namespace

Result<LoopCopy> LoopCopy::make(const std::string& device_name) {
  E4R_TRY(const std::string file, whole_file_behind(device_name));
  const int from = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) return error("{}: {}", file, errno_text(errno));
  LoopCopy out;
  const std::string directory = std::filesystem::path(file).parent_path();
  out.fd_ = ::open(directory.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
  const bool done = out.fd_ >= 0 && ::ioctl(out.fd_, FICLONE, from) == 0;
  const int failed = errno;
  ::close(from);
  if (!done)
    return error(
        "{}: its file system cannot make a copy that shares blocks: {}; give --snapshot "
        "freeze",
        file, errno_text(failed));
  return out;
}

LoopCopy::~LoopCopy() {
  if (fd_ >= 0) ::close(fd_);
}

std::string LoopCopy::path() const {
  return fmt::format("/proc/self/fd/{}", fd_);
}

}  // namespace e4r::record
