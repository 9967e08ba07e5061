// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/fd.h"

#include <fmt/format.h>
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

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return 0;
}

}  // namespace e4r
