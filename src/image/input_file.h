// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "util/status.h"

namespace e4r::image {

// A regular file or block device open for reading at any offset; reads are thread-safe.
class InputFile {
 public:
  // The Error says what the path is when it can hold no image: a directory, a pipe... `name`: what
  // messages call it, instead of the path; path() gives it.
  [[nodiscard]] static Result<InputFile> open(const std::string& path,
                                              const std::string& name = {});
  InputFile(InputFile&& other) noexcept { swap(other); }
  InputFile& operator=(InputFile&& other) noexcept {
    swap(other);
    return *this;
  }
  ~InputFile();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Bytes that can be other than zero: below size() for a sparse file.
  [[nodiscard]] std::uint64_t allocated() const { return allocated_; }

  // Fills `out` from `offset` on, or says that the file ends before or which error the read met.
  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  InputFile() = default;
  void swap(InputFile& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(fd_, other.fd_);
    std::swap(size_, other.size_);
    std::swap(allocated_, other.allocated_);
  }

  std::string path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t allocated_ = 0;
};

// Whether the file is a QCOW2 or a positionless e2image: these may have a superblock where a raw
// image has it, and nothing else.
[[nodiscard]] bool is_container(std::span<const std::byte> head);

// The Error for a file without an ext4 superblock: what it looks like instead (QCOW2 e2image,
// e2image without -r, compressed file, partitioned disk) and the command that makes an image of
// it. `head` holds the first bytes of the file, as many as there are up to 2 KiB.
[[nodiscard]] Error not_an_image(const std::string& path, std::span<const std::byte> head);

}  // namespace e4r::image
