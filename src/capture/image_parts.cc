// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/image_parts.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "capture/container.h"
#include "image/image.h"
#include "image/input_file.h"
#include "util/bytes.h"

namespace e4r::capture {
namespace {

constexpr std::size_t kHeadBytes = 8;    // size of the image
constexpr std::size_t kPieceBytes = 12;  // offset and length
// Zeros are skipped in units of this size, the smallest possible block size.
constexpr std::size_t kUnit = 1024;
// More than the largest possible ext4 file system.
constexpr std::uint64_t kMaxImage = std::uint64_t{1} << 60;
// The limit on stored bytes of an image. Bitmaps and descriptors take at most 1/512 of an image.
constexpr std::uint64_t kMaxKept = std::uint64_t{4} << 30;
std::uint64_t most_kept(std::uint64_t size) {
  return std::min(kMaxKept, size / 512 + (16 << 20));
}

bool all_zero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

}  // namespace

void ImagePacker::begin_part() {
  part_.clear();
  append_le(part_, size_);
}

Status ImagePacker::add(std::uint64_t offset, std::string_view bytes) {
  constexpr std::size_t kMost = kMaxPartBytes - kHeadBytes - kPieceBytes;
  std::size_t at = 0;
  while (at < bytes.size()) {
    std::size_t end = at;
    while (end < bytes.size() && end - at + kUnit <= kMost && !all_zero(bytes.substr(end, kUnit)))
      end = std::min(end + kUnit, bytes.size());
    if (end == at) {
      at += kUnit;
      continue;
    }
    if (part_.empty()) begin_part();
    if (part_.size() + kPieceBytes + (end - at) > kMaxPartBytes) {
      E4R_CHECK(sink_(part_));
      begin_part();
    }
    append_le(part_, offset + at);
    append_le(part_, static_cast<std::uint32_t>(end - at));
    part_ += bytes.substr(at, end - at);
    at = end;
  }
  return {};
}

Status ImagePacker::finish() {
  if (part_.empty()) begin_part();
  Status status = sink_(part_);
  part_.clear();
  return status;
}

Status MemoryImage::create(std::uint64_t size) {
  if (size == 0 || size > kMaxImage) return error("an image of {} bytes", size);
  fd_ = memory_file("e4replay start image", size);
  if (!fd_.is_open()) return error("cannot hold the start image in memory: {}", errno_text(errno));
  size_ = size;
  return {};
}

Status MemoryImage::add(std::string_view part) {
  if (part.size() < kHeadBytes) return error("a part of the start image is too short");
  const auto size = get_le<std::uint64_t>(part.data());
  if (empty()) E4R_CHECK(create(size));
  if (size != size_) return error("parts of two start images");
  part.remove_prefix(kHeadBytes);
  while (!part.empty()) {
    if (part.size() < kPieceBytes) return error("a piece of the start image is too short");
    const auto offset = get_le<std::uint64_t>(part.data());
    const auto length = get_le<std::uint32_t>(part.data() + 8);
    part.remove_prefix(kPieceBytes);
    if (length < kUnit || length > part.size() || offset > size_ || length > size_ - offset)
      return error("a piece of the start image lies outside the image");
    kept_ += length;
    if (kept_ > most_kept(size_)) return error("more of the start image than a replay reads");
    if (::pwrite(fd_.get(), part.data(), length, static_cast<off_t>(offset)) !=
        static_cast<ssize_t>(length))
      return error("cannot hold the start image in memory: {}", errno_text(errno));
    part.remove_prefix(length);
  }
  return {};
}

namespace {

constexpr std::uint64_t kReadBytes = 1 << 20;
// The bytes before the superblock, which do not belong to the file system.
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
