// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "util/fd.h"
#include "util/status.h"

// A capture stores the start image as pieces with offsets. All bytes outside the pieces are zero.
namespace e4r::capture {

// Splits an image into parts of at most kMaxPartBytes. A part holds the size of the image, then the
// offset, length and bytes of each piece.
class ImagePacker {
 public:
  using Sink = std::function<Status(std::string_view part)>;
  // `size` is the size of the image in bytes.
  ImagePacker(std::uint64_t size, Sink sink) : size_(size), sink_(std::move(sink)) {}
  // Adds bytes of the image at `offset`, in whole KiB. Skips zeros.
  [[nodiscard]] Status add(std::uint64_t offset, std::string_view bytes);
  // Passes the last part to the sink. There is always at least one part.
  [[nodiscard]] Status finish();

 private:
  void begin_part();

  std::uint64_t size_;
  Sink sink_;
  std::string part_;  // empty if no part has begun
};

// A sparse image in memory, which takes only the memory of its pieces. Movable.
class MemoryImage {
 public:
  // Adds one part from an ImagePacker. The Error says what is wrong with the part, for example that
  // it has more bytes than the bitmaps and descriptors of an image of this size can have.
  [[nodiscard]] Status add(std::string_view part);
  [[nodiscard]] bool empty() const { return !fd_.is_open(); }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // A path under which the image can be opened while this object exists.
  [[nodiscard]] std::string path() const { return fd_.path(); }

 private:
  Status create(std::uint64_t size);

  Fd fd_;
  std::uint64_t size_ = 0;
  std::uint64_t kept_ = 0;  // bytes added so far
};

// The blocks of a file system that describe its free space: superblock, descriptors, bitmaps.
class StartImage {
 public:
  // Reads these blocks into the page cache so that read() is fast.
  static void warm(const std::string& device_path);
  // Reads the blocks from a device or image, which must not change during the call. Errors: not
  // ext4; damage; a failed read.
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
