// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <thread>

#include "lazyinit/lock_holders.h"
#include "lazyinit/place.h"
#include "util/file.h"
#include "util/file_id.h"

namespace e4r::lazyinit {
namespace {

// How long to wait for a lock that will soon be gone.
constexpr std::chrono::milliseconds kPatience{2000};
constexpr std::chrono::milliseconds kPause{20};

// The device's node in /dev by the kernel's name for it, read from the device's directory in sysfs.
// Empty if there is no such node.
std::string node_of(const std::string& sysfs) {
  const auto text = read_file(sysfs + "/uevent");
  if (!text.ok()) return {};
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kName = "DEVNAME=";
    if (line.starts_with(kName)) return "/dev/" + line.substr(kName.size());
  }
  return {};
}

std::string sysfs_of(const struct stat& st) {
  return fmt::format("/sys/dev/block/{}:{}", major(st.st_rdev), minor(st.st_rdev));
}

// The device's node, or `path` if that node belongs to another device.
std::string kernels_node(const std::string& path, const struct stat& st) {
  const std::string node = node_of(sysfs_of(st));
  return !node.empty() && file_id(node) == file_id(st) ? node : path;
}

// The disk of a partition; empty if the device is not a partition.
std::string whole_disk(const struct stat& st) {
  const std::string sysfs = sysfs_of(st);
  std::error_code gone;
  if (!std::filesystem::exists(sysfs + "/partition", gone)) return {};
  return node_of(sysfs + "/..");
}

// Opens for locking only. Started programs inherit the descriptor. A write lock on a range needs a
// file open for writing; some network file systems ask that for any lock.
Fd open_to_lock(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDWR | O_NONBLOCK));
  if (fd.is_open()) return fd;
  return Fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK));
}

// Returns 0, or the errno of the failure.
int lock_whole(int fd) {
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

int lock_range(int fd) {
  struct flock all = {};
  all.l_type = F_WRLCK;
  all.l_whence = SEEK_SET;
  if (::fcntl(fd, F_OFD_SETLK, &all) == 0) return 0;
  const int why = errno;
  if (why == EAGAIN || why == EACCES) return EWOULDBLOCK;
  // The file is open for reading only, or its file system has no such locks. Other holders may
  // still be visible.
  all.l_pid = 0;
  if (::fcntl(fd, F_OFD_GETLK, &all) == 0 && all.l_type != F_UNLCK) return EWOULDBLOCK;
  return 0;
}

Status lock(const Fd& fd, const std::string& locked, const std::string& path, LockKind kind) {
  struct stat st = {};
  if (::fstat(fd.get(), &st) != 0) return error("cannot open {}: {}", locked, errno_text(errno));
  for (auto patience = kPatience;; patience -= kPause) {
    const int why = kind == LockKind::whole ? lock_whole(fd.get()) : lock_range(fd.get());
    if (why == 0 || (why == EWOULDBLOCK && is_locked_for_us(st, kind))) return {};
    if (why != EWOULDBLOCK) return error("{}: cannot be locked: {}", locked, errno_text(why));
    const LockHolder holder = holder_of(st, kind);
    if (patience <= kPause || !holder.ends_soon()) {
      const std::string what = locked == path ? "it" : locked;
      return error("{} is in use: {} has locked {}: wait until that has ended", path, holder.text(),
                   what);
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

Result<ImageLock> ImageLock::take(const std::string& name) {
  const std::string path = place_of(name).file;
  struct stat st = {};
  if (::stat(path.c_str(), &st) != 0) return error("cannot open {}: {}", path, errno_text(errno));
  const bool device = S_ISBLK(st.st_mode);
  if (!device && !S_ISREG(st.st_mode))
    return error("{} is neither a regular file nor a block device", path);
  ImageLock taken;
  const std::string disk = device ? whole_disk(st) : "";
  if (!disk.empty()) {
    taken.disk_ = Fd(::open(disk.c_str(), O_RDONLY | O_NONBLOCK));
    if (taken.disk_.is_open()) E4R_CHECK(lock(taken.disk_, disk, path, LockKind::whole));
  }
  const std::string node = device ? kernels_node(path, st) : path;
  taken.fd_ = open_to_lock(node);
  if (!taken.held() || ::fstat(taken.fd_.get(), &st) != 0)
    return error("cannot open {}: {}", path, errno_text(errno));
  E4R_CHECK(lock(taken.fd_, path, path, LockKind::whole));
  E4R_CHECK(lock(taken.fd_, path, path, LockKind::range));
  // Another file may have taken its name before it was locked.
  if (file_id(path) != file_id(st))
    return error("{}: another file has taken this name meanwhile: try again", path);
  return taken;
}

}  // namespace e4r::lazyinit
