// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <sstream>
#include <thread>

#include "util/file.h"
#include "util/file_id.h"
#include "util/printable.h"
#include "util/units.h"

namespace e4r::lazyinit {
namespace {

// udev locks a device for a moment when it has changed, and a process that ends has the lock for
// longer than its command line.
constexpr std::chrono::milliseconds kPatience{2000};
constexpr std::chrono::milliseconds kPause{20};
constexpr std::size_t kMostOfCommand = 200;

// The node in /dev that the kernel calls the device by, or `path` where there is none.
std::string kernels_node(const std::string& path, const struct stat& st) {
  const auto text =
      read_file(fmt::format("/sys/dev/block/{}:{}/uevent", major(st.st_rdev), minor(st.st_rdev)));
  if (!text.ok()) return path;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kName = "DEVNAME=";
    if (!line.starts_with(kName)) continue;
    std::string node = "/dev/" + line.substr(kName.size());
    if (file_id(node) == file_id(st)) return node;
  }
  return path;
}

// The words of a process's command line.
std::string command_of(std::uint64_t pid) {
  auto text = read_file(fmt::format("/proc/{}/cmdline", pid));
  if (!text.ok()) return {};
  std::ranges::replace(*text, '\0', ' ');
  while (text->ends_with(' ')) text->pop_back();
  return printable(*text, kMostOfCommand);
}

// Who has a lock; what is not known is empty.
struct Holder {
  std::string pid;
  std::string command;
  [[nodiscard]] bool ends_soon() const {
    return command.empty() || command.find("udev") != std::string::npos;
  }
  [[nodiscard]] std::string text() const {
    if (pid.empty()) return "another process";
    if (command.empty()) return fmt::format("a process that {} has started and left", pid);
    return fmt::format("process {} ({})", pid, command);
  }
};

// Who has the lock on the inode: a line of /proc/locks reads
// "1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF", with the numbers of the device in hexadecimal.
Holder holder_of(const struct stat& st) {
  const auto text = read_file("/proc/locks");
  if (!text.ok()) return {};
  const std::string file =
      fmt::format("{:02x}:{:02x}:{}", major(st.st_dev), minor(st.st_dev), st.st_ino);
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, access, pid, where;
    words >> number >> kind >> advisory >> access >> pid >> where;
    if (kind != "FLOCK" || where != file) continue;
    const auto id = parse_u64(pid);
    if (!id.ok() || *id == 0) break;  // of another PID namespace
    return {pid, command_of(*id)};
  }
  return {};
}

// To be locked only. Some network file systems lock what is open for writing.
Fd open_to_lock(const std::string& path, bool device) {
  Fd fd(device ? -1 : ::open(path.c_str(), O_RDWR | O_NONBLOCK));
  if (fd.is_open()) return fd;
  return Fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK));
}

}  // namespace

Result<ImageLock> ImageLock::take(const std::string& path) {
  struct stat st = {};
  if (::stat(path.c_str(), &st) != 0) return error("cannot open {}: {}", path, errno_text(errno));
  const bool device = S_ISBLK(st.st_mode);
  if (!device && !S_ISREG(st.st_mode))
    return error("{} is neither a regular file nor a block device", path);
  Fd fd = open_to_lock(device ? kernels_node(path, st) : path, device);
  if (!fd.is_open() || ::fstat(fd.get(), &st) != 0)
    return error("cannot open {}: {}", path, errno_text(errno));
  auto patience = kPatience;
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return error("{}: cannot be locked: {}", path, errno_text(errno));
    const Holder holder = holder_of(st);
    if (patience <= kPause || !holder.ends_soon())
      return error("{} is in use: {} changes it: wait until that has ended", path, holder.text());
    std::this_thread::sleep_for(kPause);
    patience -= kPause;
  }
  // It may have been replaced before it was locked.
  if (file_id(path) != file_id(st))
    return error("{}: has become another file meanwhile: try again", path);
  return ImageLock(std::move(fd));
}

}  // namespace e4r::lazyinit
