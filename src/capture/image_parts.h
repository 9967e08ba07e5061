// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "util/fd.h"
#include "util/status.h"

// The start image inside a capture is kept as pieces, each with its place. What no piece covers is
// zero.
namespace e4r::capture {

// Cuts an image into parts of at most kMaxPartBytes: its size, then place, length and bytes of each
// piece.
class ImagePacker {
 public:
  using Sink = std::function<Status(std::string_view part)>;
  // `size`: of the image, in bytes.
  ImagePacker(std::uint64_t size, Sink sink) : size_(size), sink_(std::move(sink)) {}
  // Bytes of the image from `offset` on, whole KiB of them; those that are all zero are left out.
  [[nodiscard]] Status add(std::uint64_t offset, std::string_view bytes);
  // Hands over the last part; there is one even if nothing was added.
  [[nodiscard]] Status finish();

 private:
  void begin_part();

  std::uint64_t size_;
  Sink sink_;
  std::string part_;  // empty: none begun
};

// An image in memory. Its size is the image's; the memory it takes is that of its pieces. Movable.
class MemoryImage {
 public:
  // One part of an ImagePacker's. The Error says what is wrong with it, such as more bytes than
  // bitmaps and descriptors of an image of that size can be.
  [[nodiscard]] Status add(std::string_view part);
  [[nodiscard]] bool empty() const { return !fd_.is_open(); }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // A name under which it can be opened as long as this object lives.
  [[nodiscard]] std::string path() const { return fd_.path(); }

 private:
  Status create(std::uint64_t size);

  Fd fd_;
  std::uint64_t size_ = 0;
  std::uint64_t kept_ = 0;  // bytes
};

}  // namespace e4r::capture
