// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace e4r {

// A file descriptor that is closed with the object. Movable; -1: none.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept { std::swap(fd_, other.fd_); }
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();
  // Closes it now. 0, or the errno of what went wrong.
  [[nodiscard]] int close();
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  // A name under which its file can be opened again as long as this object lives, even one that has
  // none.
  [[nodiscard]] std::string path() const;

 private:
  int fd_ = -1;
};

// A file in memory without a name, of so many zero bytes, which programs that are started do not
// have. Not open when there can be none: errno says why.
[[nodiscard]] Fd memory_file(const char* label, std::uint64_t bytes);

// Writes all of it, however often that takes. 0, or the errno of what went wrong.
[[nodiscard]] int write_all(int fd, std::string_view bytes);

}  // namespace e4r
