// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "util/fd.h"
#include "util/status.h"

namespace e4r::image {

// A regular file or block device, opened for reads at any offset. Reads are thread-safe.
class InputFile {
 public:
  // `name` is the file's name in messages and the result of path(). If it is empty, `path` is used.
  // If the path cannot be an image, the Error says what it is: a directory, a pipe...
  [[nodiscard]] static Result<InputFile> open(const std::string& path,
                                              const std::string& name = {});

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // The number of bytes that may be nonzero; less than size() for a sparse file.
  [[nodiscard]] std::uint64_t allocated() const { return allocated_; }

  // Fills `out` from `offset` on. The Error says that the file is too short, or why the read
  // failed.
  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  InputFile() = default;

  std::string path_;
  Fd fd_;
  std::uint64_t size_ = 0;
  std::uint64_t allocated_ = 0;
};

// Whether the file is a QCOW2 file or an e2image that is not raw. Such a file may have a superblock
// at the same offset as a raw image, but its other blocks are not at their offsets.
[[nodiscard]] bool is_container(std::span<const std::byte> head);

// The Error for a file without an ext4 superblock. It says what the file seems to be (QCOW2
// e2image, e2image without -r, compressed file, partitioned disk) and which command turns it into
// an image. `head` holds the first bytes of the file, up to 2 KiB.
[[nodiscard]] Error not_an_image(const std::string& path, std::span<const std::byte> head);

}  // namespace e4r::image
