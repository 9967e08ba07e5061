// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/target.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "lazyinit/in_use.h"
#include "lazyinit/layered_targets.h"
#include "lazyinit/place.h"
#include "util/bytes.h"
#include "util/units.h"

namespace e4r::lazyinit {

Result<std::unique_ptr<Target>> Target::open(const std::string& path, Access access) {
  const ImageLocation place = place_of(path);
  E4R_TRY(std::unique_ptr<Target> file, FileTarget::open(place.file, access));
  return target_from_offset(std::move(file), place);
}

// Compares without adding, because a sum could wrap around.
Status Target::check_range(std::uint64_t offset, std::uint64_t length) const {
  if (offset <= size() && length <= size() - offset) return {};
  return error("{}: {} bytes at {} lie past the end at {}", path(), length, offset, size());
}

namespace {

constexpr std::size_t kChunk = 1u << 20;

const std::byte* zeros() {
  alignas(4096) static const std::array<std::byte, kChunk> block{};
  return block.data();
}

// Whether the errno means that this kernel or file system does not support the call.
bool lacking(int errnum) {
  return errnum == EOPNOTSUPP || errnum == ENOSYS || errnum == ENOTTY || errnum == ENODEV;
}

Error cannot_open(const std::string& path, int errnum) {
  if (errnum == EBUSY) return held_error(path);
  return error("cannot open {}: {}", path, errno_text(errnum));
}

}  // namespace

Result<std::unique_ptr<FileTarget>> FileTarget::open(const std::string& path, Access access,
                                                     Means means) {
  struct stat st = {};
  if (::stat(path.c_str(), &st) != 0) return cannot_open(path, errno);
  if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
    return error("{} is neither a regular file nor a block device", path);
  int flags = O_CLOEXEC | (access == Access::write ? O_RDWR : O_RDONLY);
  if (access == Access::write && S_ISBLK(st.st_mode)) flags |= O_EXCL;
  Fd fd(::open(path.c_str(), flags));
  if (!fd.is_open()) return cannot_open(path, errno);
  std::unique_ptr<FileTarget> target(new FileTarget(path, std::move(fd)));
  E4R_CHECK(target->learn_size());
  target->zero_range_ = means.zero_range;
  target->punch_hole_ = means.punch_hole;
  target->zeroout_ = means.zeroout;
  return target;
}

Status FileTarget::learn_size() {
  struct stat st = {};
  if (::fstat(fd_.get(), &st) != 0) return fail("stat", 0, errno);
  device_ = S_ISBLK(st.st_mode);
  if (!device_) {
    size_ = static_cast<std::uint64_t>(st.st_size);
    return {};
  }
  if (::ioctl(fd_.get(), BLKGETSIZE64, &size_) != 0) return fail("get the size of", 0, errno);
  write_zeroes_ = device_attribute(st.st_rdev, "queue/write_zeroes_max_bytes").value_or("0") != "0";
  return {};
}

Error FileTarget::fail(const char* what, std::uint64_t offset, int errnum) const {
  return error("cannot {} {} at byte {}: {}", what, path_, offset, errno_text(errnum));
}

Status FileTarget::read(std::uint64_t offset, std::span<std::byte> bytes) {
  E4R_CHECK(check_range(offset, bytes.size()));
  while (!bytes.empty()) {
    const ssize_t n = ::pread(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail("read", offset, errno);
    if (n == 0) return error("cannot read {} at byte {}: it ends there", path_, offset);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

Status FileTarget::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  E4R_CHECK(check_range(offset, bytes.size()));
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail("write", offset, n < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

// Returns the first range of data at or after `offset`. If there are only holes, the range is empty
// and begins at `end`. On a file system that cannot tell holes from data, everything is data.
FileTarget::Piece FileTarget::next_data(std::uint64_t offset, std::uint64_t end) const {
  if (device_) return {offset, end};
  const off_t data = ::lseek(fd_.get(), static_cast<off_t>(offset), SEEK_DATA);
  if (data < 0) {
    // lseek() also returns ENXIO if the file was truncated meanwhile.
    const bool hole = errno == ENXIO && ::lseek(fd_.get(), 0, SEEK_END) >= static_cast<off_t>(end);
    return hole ? Piece{end, end} : Piece{offset, end};
  }
  const auto begin = std::min(static_cast<std::uint64_t>(data), end);
  const off_t hole = ::lseek(fd_.get(), data, SEEK_HOLE);
  return {begin, hole <= data ? end : std::min(static_cast<std::uint64_t>(hole), end)};
}

// Makes the piece zero with fallocate(mode). Returns false if that is not supported.
Result<bool> FileTarget::by_fallocate(std::atomic<bool>& usable, int mode, Piece piece) {
  while (usable) {
    if (::fallocate(fd_.get(), mode | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(piece.offset),
                    static_cast<off_t>(piece.end - piece.offset)) == 0)
      return true;
    if (errno == EINTR) continue;
    if (!lacking(errno)) return fail("zero", piece.offset, errno);
    usable = false;
  }
  return false;
}

// Makes the piece zero with BLKZEROOUT. Returns false if that is not supported, or if this range is
// not aligned to the device's sectors (EINVAL).
Result<bool> FileTarget::by_zeroout(Piece piece) {
  while (zeroout_) {
    std::array<std::uint64_t, 2> range = {piece.offset, piece.end - piece.offset};
    if (::ioctl(fd_.get(), BLKZEROOUT, range.data()) == 0) return true;
    if (errno == EINTR) continue;
    if (errno == EINVAL) return false;
    if (!lacking(errno)) return fail("zero", piece.offset, errno);
    zeroout_ = false;
  }
  return false;
}

// Steps end at page boundaries: for a write to part of a page, the kernel may have to read the
// rest.
Status FileTarget::write_zeros(Piece piece) {
  while (piece.offset < piece.end) {
    const std::size_t step =
        std::min<std::uint64_t>(kChunk - piece.offset % kChunk, piece.end - piece.offset);
    E4R_CHECK(write(piece.offset, {zeros(), step}));
    piece.offset += step;
  }
  return {};
}

Result<Zeroed> FileTarget::zero_piece(Piece piece) {
  const std::uint64_t length = piece.end - piece.offset;
  if (device_) {
    E4R_TRY(const bool done, by_zeroout(piece));
    if (done && write_zeroes_) return Zeroed{ZeroMethod::write_zeroes, 0, 0};
    if (done) return Zeroed{ZeroMethod::write, length, 0};
  } else {
    E4R_TRY(const bool ranged, by_fallocate(zero_range_, FALLOC_FL_ZERO_RANGE, piece));
    if (ranged) return Zeroed{ZeroMethod::zero_range, 0, 0};
    E4R_TRY(const bool punched, by_fallocate(punch_hole_, FALLOC_FL_PUNCH_HOLE, piece));
    if (punched) return Zeroed{ZeroMethod::zero_range, 0, 0};
  }
  E4R_CHECK(write_zeros(piece));
  return Zeroed{ZeroMethod::write, length, 0};
}

Status FileTarget::punch(Piece piece) {
  E4R_TRY(const bool done, by_fallocate(punch_hole_, FALLOC_FL_PUNCH_HOLE, piece));
  if (done) return {};
  return error("{}: {} cannot release blocks so that they read as zeros (PUNCH_HOLE)", path_,
               device_ ? "the device" : "its file system");
}

Result<Zeroed> FileTarget::zero(std::uint64_t offset, std::uint64_t length, ZeroBy by) {
  E4R_CHECK(check_range(offset, length));
  const std::uint64_t end = offset + length;
  if (by == ZeroBy::writing) {
    E4R_CHECK(write_zeros({offset, end}));
    return Zeroed{ZeroMethod::write, length, 0};
  }
  if (by == ZeroBy::punching) {
    if (length != 0) E4R_CHECK(punch({offset, end}));
    return Zeroed{device_ ? ZeroMethod::write_zeroes : ZeroMethod::zero_range, 0, 0};
  }
  Zeroed total{ZeroMethod::zero_range, 0, length};
  for (Piece piece{offset, offset}; piece.end < end;) {
    piece = next_data(piece.end, end);
    if (piece.offset == piece.end) break;
    total.holes -= piece.end - piece.offset;
    E4R_TRY(const Zeroed done, zero_piece(piece));
    total.method = std::max(total.method, done.method);
    total.written += done.written;
  }
  return total;
}

// Returns false if a byte is not zero or cannot be read.
bool FileTarget::scan_piece(Piece piece, std::span<std::byte> buffer, Probed& probed) const {
  while (piece.offset < piece.end) {
    const std::size_t want = std::min<std::uint64_t>(buffer.size(), piece.end - piece.offset);
    const ssize_t n = ::pread(fd_.get(), buffer.data(), want, static_cast<off_t>(piece.offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      probed = {Content::unreadable, piece.offset, probed.read};
      return false;
    }
    const auto got = buffer.first(static_cast<std::size_t>(n));
    probed.read += got.size();
    const std::size_t at = first_nonzero(got);
    if (at < got.size()) {
      probed = {Content::data, piece.offset + at, probed.read};
      return false;
    }
    piece.offset += got.size();
  }
  return true;
}

Result<Probed> FileTarget::probe(std::uint64_t offset, std::uint64_t length) {
  E4R_CHECK(check_range(offset, length));
  const std::uint64_t end = offset + length;
  Probed probed{Content::zeros, 0, 0};
  std::unique_ptr<std::byte[]> memory;
  const std::size_t room = std::min<std::uint64_t>(kChunk, length);
  for (Piece piece{offset, offset}; piece.end < end;) {
    piece = next_data(piece.end, end);
    if (piece.offset == piece.end) break;
    if (!memory) memory = std::make_unique_for_overwrite<std::byte[]>(room);
    if (!scan_piece(piece, {memory.get(), room}, probed)) break;
  }
  // These bytes will not be read again, so they are dropped from the page cache.
  if (probed.read > 0)
    (void)::posix_fadvise(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(length),
                          POSIX_FADV_DONTNEED);
  return probed;
}

Status FileTarget::sync() {
  if (::fdatasync(fd_.get()) == 0) return {};
  return error("cannot sync {}: {}", path_, errno_text(errno));
}

Result<std::uint64_t> FileTarget::allocated() {
  struct stat st = {};
  if (::fstat(fd_.get(), &st) != 0) return fail("stat", 0, errno);
  return device_ ? 0 : static_cast<std::uint64_t>(st.st_blocks) * 512;
}

}  // namespace e4r::lazyinit
