// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/fd.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace e4r {

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

int Fd::close() {
  return ::close(std::exchange(fd_, -1)) == 0 ? 0 : errno;
}

std::string Fd::path() const {
  return fmt::format("/proc/self/fd/{}", fd_);
}

Fd memory_file(const char* label, std::uint64_t bytes) {
  Fd fd(::memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd.is_open() && ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    const int why = errno;
    fd = Fd();
    errno = why;
  }
  return fd;
}

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return 0;
}

int write_all_at(int fd, std::span<const std::byte> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done < 0 ? errno : ENOSPC;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  return 0;
}

FileId file_id(const struct stat& st) {
  if (S_ISBLK(st.st_mode)) return {st.st_rdev, 0, true};
  return {st.st_dev, st.st_ino, false};
}

std::optional<FileId> file_id(const std::string& path) {
  struct stat st = {};
  if (::stat(path.c_str(), &st) != 0) return std::nullopt;
  return file_id(st);
}

}  // namespace e4r
