// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture/image_parts.h"
#include "util/status.h"

namespace e4r::capture {

// The blocks of a file system that describe its free space: superblock, descriptors, bitmaps.
class StartImage {
 public:
  // Reads those blocks into the page cache so that read() is fast.
  static void warm(const std::string& device_path);
  // Reads the blocks from a device or image that does not change meanwhile. Errors: not ext4;
  // damaged; a read failed.
  [[nodiscard]] static Result<StartImage> read(const std::string& device_path);

  // Passes the image to `sink` as parts for a capture.
  [[nodiscard]] Status pack(const ImagePacker::Sink& sink) const;
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  struct Piece {
    std::uint64_t offset = 0;
    std::string bytes;
  };
  std::uint64_t size_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace e4r::capture
