// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace e4r {

// A file descriptor that is closed with the object. Movable. The value -1 means no descriptor.
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
  // Closes the descriptor now. Returns 0 or an errno.
  [[nodiscard]] int close();
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  // A name under which the file can be opened again as long as this object lives, even if the file
  // has no name.
  [[nodiscard]] std::string path() const;

 private:
  int fd_ = -1;
};

// Makes a file in memory that has no name and holds `bytes` zero bytes. It is closed on exec. If it
// cannot be made, the Fd is -1 and errno says why.
[[nodiscard]] Fd memory_file(const char* label, std::uint64_t bytes);

// Writes all bytes, with as many system calls as needed. Returns 0 or an errno.
[[nodiscard]] int write_all(int fd, std::string_view bytes);
// Like write_all(), but writes at `offset`.
[[nodiscard]] int write_all_at(int fd, std::span<const std::byte> bytes, std::uint64_t offset);

// The identity of a file, independent of its name. A device node stands for its device: two nodes
// of the same device are equal.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  bool is_block_device = false;  // true for a block device: `device` is then its own device number,
                                 // and `inode` is unused

  friend bool operator==(const FileId&, const FileId&) = default;
};

[[nodiscard]] FileId file_id(const struct stat& st);
// Returns the identity of the file, or of a link's target. Empty if the file does not exist or
// cannot be reached.
[[nodiscard]] std::optional<FileId> file_id(const std::string& path);

}  // namespace e4r
