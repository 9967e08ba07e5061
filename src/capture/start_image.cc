// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/start_image.h"

#include <algorithm>
#include <span>

#include "image/image.h"
#include "image/input_file.h"

namespace e4r::capture {
namespace {

constexpr std::uint64_t kReadBytes = 1 << 20;
// in front of the superblock; not part of the file system
constexpr std::uint64_t kBootBytes = 1024;

}  // namespace

void StartImage::warm(const std::string& device_path) {
  static_cast<void>(read(device_path));
}

Result<StartImage> StartImage::read(const std::string& device_path) {
  E4R_TRY(const image::Image fs, image::Image::open(device_path, {.load_bitmaps = false}));
  E4R_TRY(const image::InputFile file, image::InputFile::open(device_path));
  StartImage out;
  const std::uint64_t block_size = fs.superblock().block_size();
  out.size_ = fs.superblock().blocks_count * block_size;
  for (const BlockRange& range : fs.bookkeeping()) {
    const std::uint64_t end = range.end() * block_size;
    for (std::uint64_t at = range.first * block_size; at < end; at += kReadBytes) {
      Piece piece = {at, std::string(std::min(kReadBytes, end - at), '\0')};
      E4R_CHECK(file.read(at, std::as_writable_bytes(std::span(piece.bytes))));
      out.pieces_.push_back(std::move(piece));
    }
  }
  if (!out.pieces_.empty() && out.pieces_.front().offset == 0)
    std::fill_n(out.pieces_.front().bytes.begin(), kBootBytes, '\0');
  return out;
}

Status StartImage::pack(const ImagePacker::Sink& sink) const {
  ImagePacker packer(size_, sink);
  for (const Piece& piece : pieces_) E4R_CHECK(packer.add(piece.offset, piece.bytes));
  return packer.finish();
}

std::uint64_t StartImage::bytes() const {
  std::uint64_t sum = 0;
  for (const Piece& piece : pieces_) sum += piece.bytes.size();
  return sum;
}

}  // namespace e4r::capture
