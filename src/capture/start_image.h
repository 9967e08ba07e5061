// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture/image_parts.h"
#include "util/status.h"

namespace e4r::capture {

// Of a file system, the blocks that say what of it is free: superblock, descriptors, bitmaps.
class StartImage {
 public:
  // Brings those blocks into the page cache, as far as they are known now, so that read() is quick.
  static void warm(const std::string& device_path);
  // Reads them from a device or image on which nothing changes meanwhile. The Error: not ext4,
  // damaged, or a read failed.
  [[nodiscard]] static Result<StartImage> read(const std::string& device_path);

  // Cut into parts for a capture.
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
