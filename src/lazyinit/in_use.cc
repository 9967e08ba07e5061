// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/in_use.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "image/ext2_handle.h"
#include "lazyinit/place.h"
#include "util/fd.h"
#include "util/file.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::lazyinit {
namespace {

constexpr std::size_t kMostOfCommand = 200;
constexpr int kMostAncestors = 1000;

// A line of /proc/locks, or the text after "lock:" in /proc/PID/fdinfo/FD, with device numbers in
// hexadecimal: "1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF".
struct LockLine {
  std::string kind, access, pid, where, first, last;

  [[nodiscard]] bool is(LockKind wanted) const {
    return wanted == LockKind::whole ? kind == "FLOCK" : kind == "OFDLCK" || kind == "POSIX";
  }
  [[nodiscard]] bool is_exclusive() const {
    return access == "WRITE" && first == "0" && last == "EOF";
  }
};

LockLine parse_lock(const std::string& text) {
  LockLine line;
  std::string number, advisory;
  std::istringstream(text) >> number >> line.kind >> advisory >> line.access >> line.pid >>
      line.where >> line.first >> line.last;
  return line;
}

// Returns the command line of a process.
std::string command_of(const std::string& pid) {
  auto text = read_file(fmt::format("/proc/{}/cmdline", pid));
  if (!text.ok()) return {};
  std::ranges::replace(*text, '\0', ' ');
  while (text->ends_with(' ')) text->pop_back();
  return printable(*text, kMostOfCommand);
}

// The locks of this kind that the process holds on the inode through its open files.
std::vector<LockLine> locks_of(const std::string& pid, const struct stat& st, LockKind kind) {
  std::vector<LockLine> locks;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + pid + "/fd", gone)) {
    struct stat open = {};
    if (::stat(entry.path().c_str(), &open) != 0 || open.st_dev != st.st_dev ||
        open.st_ino != st.st_ino)
      continue;
    const auto info = read_file("/proc/" + pid + "/fdinfo/" + entry.path().filename().string());
    if (!info.ok()) continue;
    std::istringstream lines(*info);
    for (std::string line; std::getline(lines, line);) {
      constexpr std::string_view kLock = "lock:";
      if (!line.starts_with(kLock)) continue;
      const LockLine lock = parse_lock(line.substr(kLock.size()));
      if (lock.is(kind)) locks.push_back(lock);
    }
  }
  return locks;
}

// The parent of the process, from "PID (NAME) STATE PPID ...".
std::optional<std::string> parent_of(const std::string& pid) {
  const auto text = read_file("/proc/" + pid + "/stat");
  if (!text.ok()) return std::nullopt;
  const std::size_t name_end = text->rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::string state, parent;
  std::istringstream(text->substr(name_end + 1)) >> state >> parent;
  if (parent.empty() || parent == "0") return std::nullopt;
  return parent;
}

bool is_number(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Searches the open files of all processes. Finds a process that inherited a lock, and the owner of
// an OFD lock, which /proc/locks does not name.
LockHolder search_all(const struct stat& st, LockKind kind) {
  const std::string self = std::to_string(::getpid());
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    const std::string pid = entry.path().filename().string();
    if (is_number(pid) && pid != self && !locks_of(pid, st, kind).empty())
      return {pid, command_of(pid)};
  }
  return {};
}

}  // namespace

bool LockHolder::ends_soon() const {
  return command.empty() || command.find("udev") != std::string::npos;
}

std::string LockHolder::text() const {
  if (pid.empty()) return "another process";
  if (command.empty()) return fmt::format("a process that the ended process {} started", pid);
  return fmt::format("process {} ({})", pid, command);
}

LockHolder holder_of(const struct stat& st, LockKind kind) {
  const std::string file =
      fmt::format("{:02x}:{:02x}:{}", major(st.st_dev), minor(st.st_dev), st.st_ino);
  const auto text = read_file("/proc/locks");
  std::istringstream lines(text.ok() ? *text : "");
  LockHolder named;
  for (std::string line; std::getline(lines, line);) {
    const LockLine lock = parse_lock(line);
    if (!lock.is(kind) || lock.where != file) continue;
    if (!is_number(lock.pid) || lock.pid == "0")
      break;  // the holder is in another PID namespace,
              // or unknown
    named = {lock.pid, command_of(lock.pid)};
    break;
  }
  if (!named.command.empty()) return named;
  const LockHolder found = search_all(st, kind);
  return found.pid.empty() ? named : found;
}

bool is_locked_for_us(const struct stat& st, LockKind kind) {
  std::optional<std::string> pid = std::to_string(::getpid());
  for (int i = 0; pid && i < kMostAncestors; ++i, pid = parent_of(*pid)) {
    const auto locks = locks_of(*pid, st, kind);
    if (std::ranges::any_of(locks, [](const LockLine& lock) { return lock.is_exclusive(); }))
      return true;
  }
  return false;
}

namespace {

// How long to wait for a lock that will soon be released.
constexpr std::chrono::milliseconds kPatience{2000};
constexpr std::chrono::milliseconds kPause{20};

// Returns the device's node in /dev, which DEVNAME in its sysfs directory `sysfs` names.
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

// Opens a file only to lock it. Child programs inherit the descriptor. A write lock on a range
// needs a file open for writing; some network file systems require that for any lock.
Fd open_to_lock(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDWR | O_NONBLOCK));
  if (fd.is_open()) return fd;
  return Fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK));
}

// Locks the whole file without waiting. Returns 0 or the errno.
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
  // This lock cannot be taken: the file is open only for reading, or its file system does not have
  // such locks. The locks of other processes may still be visible.
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
  // Before the file was locked, another file may have taken its name.
  if (file_id(path) != file_id(st))
    return error("{}: another file has taken this name meanwhile: try again", path);
  return taken;
}

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
  // EXT2_MF_BUSY would only mean that this process itself has the device open.
  return (flags & (EXT2_MF_MOUNTED | EXT2_MF_SWAP)) != 0;
}

Error loop_error(const std::string& path, const std::string& loop) {
  const std::string device = "/dev/" + loop;
  const auto mounted = is_mounted(device);
  if (mounted.ok() && *mounted)
    return error("{} is in use by the mounted loop device {}: unmount that first (umount {})", path,
                 device, device);
  if (is_held(device))
    return error(
        "{} is in use by the loop device {}, which is mounted in another mount namespace or held "
        "by another program: unmount that first",
        path, device);
  return error("{} is in use by the loop device {}: detach that first (losetup -d {})", path,
               device, device);
}

// The loop devices that show the same bytes as the file or device, except the device itself.
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
    use = {false, loop_error(path, loops.front())};
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
      "{} is in use: it is mounted, perhaps in another mount namespace, or held by another "
      "program: unmount it first",
      path);
}

}  // namespace e4r::lazyinit
