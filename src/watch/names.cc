// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/names.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "record/volume.h"
#include "util/fd.h"
#include "util/file.h"

namespace e4r::watch {
namespace {

constexpr std::size_t kMostNames = 4096, kMostFiles = 256;
// How long an answer is used. For a file whose name is not in memory, the next answer may need disk
// access.
constexpr std::chrono::seconds kNamedFor{5}, kNamelessFor{30};

// A file handle as ext4 encodes it: an inode number and a generation, where 0 means any
// (FILEID_INO32_GEN in include/linux/exportfs.h; ext4_nfs_get_inode() in fs/ext4/super.c, Linux
// 6.12).
Fd open_inode(int mount, std::uint32_t ino) {
  constexpr int kInodeAndGeneration = 1;
  const std::array<std::uint32_t, 2> body = {ino, 0};
  alignas(file_handle) std::array<char, sizeof(file_handle) + sizeof body> bytes = {};
  file_handle head = {};
  head.handle_bytes = sizeof body;
  head.handle_type = kInodeAndGeneration;
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, body.data(), sizeof body);
  return Fd(
      ::open_by_handle_at(mount, reinterpret_cast<file_handle*>(bytes.data()), O_PATH | O_CLOEXEC));
}

bool is_inode(const struct stat& st, std::uint32_t dev, std::uint64_t ino) {
  return st.st_ino == ino && record::number_of(st.st_dev) == dev;
}

bool is_below(std::string_view path, std::string_view mount_point) {
  if (!path.starts_with(mount_point)) return false;
  const std::string_view rest = path.substr(mount_point.size());
  return rest.empty() || rest.front() == '/' || mount_point == "/";
}

}  // namespace

std::optional<std::string> path_of_inode(const std::string& mount_point, std::uint32_t dev,
                                         std::uint64_t ino) {
  constexpr std::string_view kDeleted = " (deleted)";
  constexpr std::uint64_t kRoot = 2;
  if (ino == 0 || ino > UINT32_MAX) return std::nullopt;
  struct stat st = {};
  Fd file;
  {
    const Fd mount(::open(mount_point.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!mount.is_open() || ::fstat(mount.get(), &st) != 0 || record::number_of(st.st_dev) != dev)
      return std::nullopt;
    file = open_inode(mount.get(), static_cast<std::uint32_t>(ino));
  }
  if (!file.is_open() || ::fstat(file.get(), &st) != 0 || !is_inode(st, dev, ino) ||
      st.st_nlink == 0)
    return std::nullopt;
  std::array<char, 4096> text = {};
  const ssize_t length = ::readlink(file.path().c_str(), text.data(), text.size());
  if (length <= 0 || static_cast<std::size_t>(length) == text.size()) return std::nullopt;
  const std::string path(text.data(), static_cast<std::size_t>(length));
  // If the kernel has no name of the inode in memory, it shows "/".
  if (!is_below(path, mount_point) || (path == "/" && ino != kRoot)) return std::nullopt;
  // The kernel appends " (deleted)" if this name was removed but the inode has other names. A
  // file's own name can also end like this.
  if (path.ends_with(kDeleted) && (::lstat(path.c_str(), &st) != 0 || !is_inode(st, dev, ino)))
    return std::nullopt;
  return path;
}

LiveNames::~LiveNames() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LiveNames::set_place(const Report& report) {
  const std::lock_guard lock(mutex_);
  if (mount_point_ == report.mount_point && dev_ == report.dev) return;
  mount_point_ = report.mount_point;
  dev_ = report.dev;
  files_.clear();
  wanted_.clear();
}

void LiveNames::look_up(const Report& report) {
  constexpr std::chrono::milliseconds kMost{100};
  set_place(report);
  if (!report.picture || report.picture->costly.empty()) return;
  for (const CostlyRequest& request : report.picture->costly) (void)file(request.ino);
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kMost, [this] { return wanted_.empty(); });
}

std::string LiveNames::process(std::uint32_t pid) {
  if (const auto known = processes_.find(pid); known != processes_.end()) return known->second;
  if (processes_.size() == kMostNames) processes_.clear();
  const auto name = read_file(fmt::format("/proc/{}/comm", pid));
  return processes_[pid] = name.ok() ? name->substr(0, name->find('\n')) : "";
}

std::string LiveNames::file(std::uint64_t ino) {
  const std::lock_guard lock(mutex_);
  if (mount_point_.empty()) return {};
  if (files_.size() >= kMostFiles && !files_.contains(ino)) {
    files_.clear();
    wanted_.clear();
  }
  Known& known = files_[ino];
  if (!known.wanted && Clock::now() >= known.until) {
    known.wanted = true;
    wanted_.push_back(ino);
    if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
    changed_.notify_all();
  }
  return known.path.value_or("");
}

void LiveNames::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !wanted_.empty(); });
    if (ends_) return;
    const std::uint64_t ino = wanted_.front();
    const std::string mount_point = mount_point_;
    const std::uint32_t dev = dev_;
    lock.unlock();
    auto path = path_of_inode(mount_point, dev, ino);
    lock.lock();
    const auto asked = std::ranges::find(wanted_, ino);
    if (asked == wanted_.end() || mount_point != mount_point_ || dev != dev_) continue;
    wanted_.erase(asked);
    const auto until = Clock::now() + (path ? kNamedFor : kNamelessFor);
    files_[ino] = {std::move(path), until, false};
    if (wanted_.empty()) changed_.notify_all();
  }
}

}  // namespace e4r::watch
